import CPlist
import Foundation
import PropertyLists

/// A reader and writer that is measured: each gives a closure that does the work once.
///
/// `parse` must make a whole tree of its own kind and `write` a whole file from such a tree; nothing else is timed.
protocol Peer {
    static var name: String { get }
    associatedtype Tree
    /// The bytes of a file, as the peer gives them.
    associatedtype File: DataProtocol = Data
    static func parse(_ file: Data, _ format: PropertyListFormat) throws -> Tree
    static func write(_ tree: Tree, _ format: PropertyListFormat) throws -> File
}

enum Ours: Peer {
    static let name = "kvcodable"

    static func parse(_ file: Data, _ format: PropertyListFormat) throws -> PropertyList {
        try file.withUnsafeBytes { try PropertyList(parsing: $0, as: format) }
    }

    static func write(_ tree: PropertyList, _ format: PropertyListFormat) throws -> [UInt8] {
        try tree.serialized(as: format)
    }
}

enum Serialization: Peer {
    static let name = "Foundation PropertyListSerialization"

    static func parse(_ file: Data, _ format: PropertyListFormat) throws -> Any {
        try PropertyListSerialization.propertyList(from: file, options: [], format: nil)
    }

    static func write(_ tree: Any, _ format: PropertyListFormat) throws -> Data {
        try PropertyListSerialization.data(fromPropertyList: tree, format: format == .xml ? .xml : .binary, options: 0)
    }
}

enum Coders: Peer {
    static let name = "FoundationEssentials coders"

    indirect enum Tree: Codable {
        case bool(Bool)
        case int(Int64)
        case real(Double)
        case date(Date)
        case data(Data)
        case string(String)
        case array([Tree])
        case dictionary([String: Tree])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(String.self) {
                self = .string(value)
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode([String: Tree].self) {
                self = .dictionary(value)
            } else if let value = try? container.decode([Tree].self) {
                self = .array(value)
            } else if let value = try? container.decode(Date.self) {
                self = .date(value)
            } else if let value = try? container.decode(Data.self) {
                self = .data(value)
            } else if let value = try? container.decode(Int64.self) {
                self = .int(value)
            } else {
                self = .real(try container.decode(Double.self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try container.encode(value)
            case .int(let value): try container.encode(value)
            case .real(let value): try container.encode(value)
            case .date(let value): try container.encode(value)
            case .data(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .array(let value): try container.encode(value)
            case .dictionary(let value): try container.encode(value)
            }
        }
    }

    static func parse(_ file: Data, _ format: PropertyListFormat) throws -> Tree {
        try PropertyListDecoder().decode(Tree.self, from: file)
    }

    static func write(_ tree: Tree, _ format: PropertyListFormat) throws -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format == .xml ? .xml : .binary
        return try encoder.encode(tree)
    }
}

enum LibPlist: Peer {
    static let name = "libplist"

    final class Tree {
        var node: plist_t?
        deinit { plist_free(node) }
    }

    struct Failure: Error {}

    static func parse(_ file: Data, _ format: PropertyListFormat) throws -> Tree {
        let tree = Tree()
        file.withUnsafeBytes { bytes in
            let text = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            let size = UInt32(bytes.count)
            if format == .xml { plist_from_xml(text, size, &tree.node) } else { plist_from_bin(text, size, &tree.node) }
        }
        guard tree.node != nil else { throw Failure() }
        return tree
    }

    static func write(_ tree: Tree, _ format: PropertyListFormat) throws -> Data {
        var bytes: UnsafeMutablePointer<CChar>?
        var size: UInt32 = 0
        if format == .xml { plist_to_xml(tree.node, &bytes, &size) } else { plist_to_bin(tree.node, &bytes, &size) }
        guard let bytes else { throw Failure() }
        return Data(bytesNoCopy: bytes, count: Int(size), deallocator: .free)
    }
}
