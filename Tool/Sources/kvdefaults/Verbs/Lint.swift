import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

struct Lint: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks files: their format, and by a type their values.",
        discussion: """
            A line for each fault says the file, line and column or byte, and the path. A domain is checked by the type \
            that is published for it, and texts of types (.kvtypes) are checked as well. Exit status 2 where something is \
            wrong.
            """)

    @Argument(help: "Files of any format, and domains; - is standard input.") var files: [Source]
    @Option(
        help: "Check the values by this type: the domain that publishes it, or a file of types (.kvtypes).",
        completion: .file(extensions: ["kvtypes"]))
    var types: String?
    @Flag(help: "Print JSON.") var json = false

    func run() throws {
        let type = try types.map(Self.type)
        let found = files.flatMap { file in faults(in: file, type).map { (file.text, $0) } }
        if json {
            let list = found.map { file, fault in
                PropertyList(["file": PropertyList(file), "message": PropertyList(fault)])
            }
            print(try JSONText.of(PropertyList(list)))
        } else {
            for (file, fault) in found { print("\(file): \(fault)") }
        }
        if !found.isEmpty { throw Failure.told }
    }

    private static func type(_ text: String) throws -> CodableType {
        guard text.hasSuffix(".kvtypes") else { return try Domain(text).requiredType() }
        return try about(text) { try TypeRegistry().schema(try TextFile.read(text)) }
    }

    private func faults(in file: Source, _ type: CodableType?) -> [String] {
        do {
            if file.text.hasSuffix(".kvtypes") {
                _ = try TypeRegistry().declare(try TextFile.read(file.text))
                return []
            }
            let type = try type ?? file.type()
            let place = try file.inFile()
            let (list, format) = try place.read()
            guard let type else { return [] }
            if list.isKeyedArchive { return Check(type).faults(in: try list.unarchived()).map { $0.message(at: nil) } }
            return messages(Check(type).faults(in: list), in: place.text, format)
        } catch let failure as Failure {
            return [failure.message ?? ""]
        } catch {
            return [words(of: error)]
        }
    }

    /// The first faults are so many that nobody reads on; the places of more would take long to find.
    private static let mostPlaces = 100

    /// Each fault with line and column, where the file is a text of XML or JSON.
    private func messages(_ faults: [Check.Fault], in file: String, _ format: PropertyListFormat) -> [String] {
        let bytes = file == "-" || faults.isEmpty ? nil : try? TextFile.bytes(file)
        let paths = faults.prefix(Self.mostPlaces).map(\.path)
        let places = bytes.map { PropertyListPath.locations(of: paths, in: $0, as: format) } ?? []
        return faults.enumerated().map { number, fault in
            fault.message(at: number < places.count ? places[number] : nil)
        }
    }
}

extension Check.Fault {
    func message(at location: PropertyListError.Location?) -> String {
        guard case .line(let line, let column)? = location else { return message }
        return "\(message) (line \(line), column \(column))"
    }
}

extension PropertyListError.Location? {
    /// The line, for an editor; the first where it is not known.
    var line: Int { if case .line(let line, _)? = self { line } else { 1 } }
}

/// A file that is no property list.
enum TextFile {
    static func read(_ path: String) throws -> String {
        guard let text = String(validating: try bytes(path), as: UTF8.self) else {
            throw Failure("It is not UTF-8", of: path)
        }
        return text
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        guard let stream = fopen(path, "r") else { throw Failure(String(cString: strerror(errno)), of: path) }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 { bytes += buffer[..<count] }
        return bytes
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
            return fault(in: list, type, at: []) + strays(in: list, type, at: [])
        }
        let values = list.entries.flatMap { key, value in
            type.member(at: [.key(key)]).map { fault(in: value, $0.type, at: [.key(key)]) } ?? []
        }
        return values + strays(in: list, type, at: [])
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

    /// The key of a path that is nearly that of a setting, and none.
    func fault(of path: PropertyListPath) -> Fault? {
        var outer = type
        for (count, step) in path.steps.enumerated() {
            guard let member = outer.member(at: [step]) else {
                guard case .key(let key) = step else { return nil }
                let place = PropertyListPath(Array(path.steps[...count]))
                return misspelling(key, of: outer, at: place, among: outer.members.map(\.key))
            }
            outer = member.type
        }
        return nil
    }

    /// As ``faults(in:)`` finds them in a value at a path: the misspelt keys alone.
    func strays(in list: PropertyList, at path: PropertyListPath) -> [Fault] {
        type.member(at: path).map { strays(in: list, $0.type, at: path) } ?? []
    }

    private func misspelling(
        _ key: String, of type: CodableType, at place: PropertyListPath, among keys: [String]
    ) -> Fault? {
        type.closestKey(to: key, among: keys).map { meant in
            Fault(path: place, message: "\(type.wrapped) has no \(place.text); did you mean \(meant)?")
        }
    }

    /// Unknown keys that are nearly those of a setting that is absent. Any other belongs to another program. Recursion
    /// is bounded by the depth of values.
    private func strays(in list: PropertyList, _ type: CodableType, at path: PropertyListPath) -> [Fault] {
        if list.kind == .array, let element = type.element {
            return list.elements.enumerated().flatMap { strays(in: $1, element, at: path.appending(.index($0))) }
        }
        guard list.kind == .dictionary else { return [] }
        let members = type.members
        return list.entries.flatMap { key, value -> [Fault] in
            let place = path.appending(.key(key))
            if let member = type.member(at: [.key(key)]) { return strays(in: value, member.type, at: place) }
            let absent = members.map(\.key).filter { list[$0] == nil }
            return misspelling(key, of: type, at: place, among: absent).map { [$0] } ?? []
        }
    }
}
