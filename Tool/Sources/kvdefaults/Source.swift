import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

/// A value from a file of any format, from standard input (`-`), or from a domain.
struct Source: ExpressibleByArgument {
    let text: String

    init?(argument: String) { text = argument }
    private init(file: String) { text = file }

    static var defaultCompletionKind: CompletionKind { .file() }

    private var domain: Domain { Domain(text) }

    /// Whether the text means a store: one of that name is there, and no path is written.
    var isDomain: Bool { text != "-" && !domain.isFile && domain.hasFile }

    /// The file of a domain; a file itself.
    func inFile() throws -> Source {
        guard isDomain, let file = try domain.opened().file else { return self }
        return Source(file: file)
    }

    /// The type that is published for a domain; nil for a file.
    func type() throws -> CodableType? { isDomain ? try domain.type() : nil }

    /// - Parameters:
    ///   - unarchives: whether of a keyed archive the plain value is given.
    ///   - masks: whether a domain's secrets are left out.
    func value(unarchives: Bool, masks: Bool = true) throws -> PropertyList {
        if isDomain {
            let type = masks ? try type() : nil
            return try about(text) {
                try Values.masked(try domain.opened().dictionary(of: .application), type)
            }
        }
        let (list, _) = try read()
        return try about(text) { unarchives && list.isKeyedArchive ? try list.unarchived() : list }
    }

    /// The value of a file or of standard input, and its format.
    func read() throws -> (list: PropertyList, format: PropertyListFormat) {
        try about(text) {
            if text == "-" {
                let (list, format) = try PropertyList.parse(standardInput())
                return (format == .json ? try list.valueOfJSONForm() : list, format)
            }
            if text.hasSuffix(".sqlite") || text.hasSuffix(".db") {
                return (try domain.opened().dictionary(of: .application), .binary)
            }
            guard let (list, format) = try PropertyListFile.read(text) else {
                throw Failure("There is no such file", of: text)
            }
            return (format == .json ? try list.valueOfJSONForm() : list, format)
        }
    }

    private func standardInput() throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }
}

/// The formats that are written.
enum Format: String, ExpressibleByArgument, CaseIterable {
    case xml, binary, json, commands

    /// The library's format; nil for commands.
    var ofFiles: PropertyListFormat? {
        switch self {
        case .xml: .xml
        case .binary: .binary
        case .json: .json
        case .commands: nil
        }
    }

    /// The format that a file's name asks for.
    init?(file: String) {
        if file.hasSuffix(".json") {
            self = .json
        } else if file.hasSuffix(".plist") || file.hasSuffix(".xml") {
            self = .xml
        } else {
            return nil
        }
    }
}

/// Writes what is exported: to a file, as a whole, or to standard output.
enum Output {
    /// Makes the bytes of what `value` gives, with a bar where that takes long. The bar is gone before they are printed.
    static func write(
        _ title: String, as format: Format, of domain: Domain?, to file: String?, _ value: () throws -> PropertyList
    ) throws {
        let bytes = try Progress.shown(title, of: 0) { _ in
            let list = try value()
            if let file, let known = format.ofFiles {
                return try about(file) {
                    try PropertyListFile.write(format == .json ? list.jsonForm() : list, to: file, as: known)
                    return [UInt8]()
                }
            }
            let bytes = try about(domain?.text ?? file ?? "-") { try Self.bytes(of: list, as: format, domain) }
            guard let file else { return bytes }
            try write(bytes, to: file)
            return []
        }
        DomainAccess.write(bytes, to: STDOUT_FILENO)
    }

    /// Writes a text of commands, which may hold secrets: a new file is the user's alone.
    private static func write(_ bytes: [UInt8], to file: String) throws {
        let mask = umask(0o077)
        defer { umask(mask) }
        guard let stream = fopen(file, "w") else { throw Failure(String(cString: strerror(errno)), of: file) }
        let count = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, stream) }
        guard fclose(stream) == 0, count == bytes.count else {
            throw Failure(String(cString: strerror(errno)), of: file)
        }
    }

    private static func bytes(of list: PropertyList, as format: Format, _ domain: Domain?) throws -> [UInt8] {
        switch format {
        case .xml: return try list.serialized(as: .xml)
        case .binary: return try list.serialized(as: .binary)
        case .json: return Array((try JSONText.of(list) + "\n").utf8)
        case .commands:
            guard let domain else { throw Failure("Commands are of a domain") }
            return list.entries.flatMap { key, value in
                Array((Values.command(domain, [.key(key)], value) + "\n").utf8)
            }
        }
    }
}
