import ArgumentParser
import Glibc
import KVCodable

struct Lint: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks files: their format, and by a type their values.",
        discussion: """
            A line for each fault says the file, line and column or byte, and the path. Texts of types (.kvtypes) are \
            checked as well. Exit status 2 where something is wrong.
            """)

    @Argument(help: "Files of any format; - is standard input.") var files: [Source]
    @Option(
        help: "Check the values by this type: the domain that publishes it, or a file of types (.kvtypes).",
        completion: .file(extensions: ["kvtypes"]))
    var types: String?

    func run() throws {
        let type = try types.map(Self.type)
        var isRight = true
        for file in files {
            let found = faults(in: file, type)
            for fault in found { print("\(file.text): \(fault)") }
            isRight = isRight && found.isEmpty
        }
        if !isRight { throw Failure.told }
    }

    private static func type(_ text: String) throws -> CodableType {
        guard text.hasSuffix(".kvtypes") else { return try Domain(text).requiredType() }
        return try about(text) { try TypeRegistry().schema(try TypesFile.read(text)) }
    }

    private func faults(in file: Source, _ type: CodableType?) -> [String] {
        do {
            if file.text.hasSuffix(".kvtypes") {
                _ = try TypeRegistry().declare(try TypesFile.read(file.text))
                return []
            }
            let (list, format) = try file.read()
            guard let type else { return [] }
            let plain = list.isKeyedArchive ? try list.unarchived() : list
            let text = format == .json ? (try? TypesFile.read(file.text)) : nil
            return Check(type).faults(in: plain).map { place($0, in: text) }
        } catch let failure as Failure {
            return [failure.message ?? ""]
        } catch {
            return [words(of: error)]
        }
    }

    /// A fault with line and column, where the file is JSON.
    private func place(_ fault: Check.Fault, in text: String?) -> String {
        guard let text, let (line, column) = CommentedJSON.location(of: fault.path, in: Array(text.utf8)) else {
            return fault.message
        }
        return "\(fault.message) (line \(line), column \(column))"
    }
}

/// The text of a file that is no property list.
enum TypesFile {
    static func read(_ path: String) throws -> String {
        guard let stream = fopen(path, "r") else { throw Failure(String(cString: strerror(errno)), of: path) }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 { bytes += buffer[..<count] }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Failure("It is not UTF-8", of: path) }
        return text
    }
}

/// A check of a whole dictionary by its type: of each setting the first fault, and keys that were most likely misspelt.
struct Check {
    struct Fault {
        let path: PropertyListPath
        let message: String
    }

    private let type: CodableType

    init(_ type: CodableType) { self.type = type }

    func faults(in list: PropertyList) -> [Fault] {
        guard list.kind == .dictionary, !type.members.isEmpty else {
            return fault(in: list, type, at: []) + strays(list, type, at: [])
        }
        let values = list.entries.flatMap { key, value in
            type.member(at: [.key(key)]).map { fault(in: value, $0.type, at: [.key(key)]) } ?? []
        }
        return values + strays(list, type, at: [])
    }

    private func fault(in list: PropertyList, _ type: CodableType, at path: PropertyListPath) -> [Fault] {
        do {
            _ = try type.read(list, at: path)
            return []
        } catch let error as TypeError {
            return [Fault(path: error.path, message: words(of: error))]
        } catch {
            return [Fault(path: path, message: words(of: error))]
        }
    }

    /// Unknown keys that are nearly those of a setting that is absent. Any other belongs to another program. Recursion
    /// is bounded by the depth of values.
    private func strays(_ list: PropertyList, _ type: CodableType, at path: PropertyListPath) -> [Fault] {
        if list.kind == .array, let element = type.element {
            return list.elements.enumerated().flatMap { strays($1, element, at: path.appending(.index($0))) }
        }
        guard list.kind == .dictionary else { return [] }
        let members = type.members
        return list.entries.flatMap { key, value -> [Fault] in
            let place = path.appending(.key(key))
            if let member = type.member(at: [.key(key)]) { return strays(value, member.type, at: place) }
            let absent = members.map(\.key).filter { list[$0] == nil }
            guard let meant = type.closestKey(to: key, among: absent) else { return [] }
            return [Fault(path: place, message: "\(type.wrapped) has no \(place.text); did you mean \(meant)?")]
        }
    }
}
