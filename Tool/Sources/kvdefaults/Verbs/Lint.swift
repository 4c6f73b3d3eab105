import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

struct Lint: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks files: their format, and by a type their values.",
        discussion: """
            A line for each fault says the file and the path, and in XML and JSON line and column. A domain is checked by \
            the type that is published for it, and texts of types (.kvtypes) are checked as well. Exit status 2 where \
            something is wrong, 1 where there is no such store.
            """)

    @Argument(help: "Files of any format, and domains; - is standard input.") var files: [Source]
    @Option(
        help: "Check the values by this type: the domain that publishes it, or a file of types (.kvtypes).",
        completion: .custom(Completion.types))
    var types: String?
    @Flag(help: "Print JSON.") var json = false

    func run() throws {
        let type = try types.map(Self.type)
        let found = files.flatMap { findings(in: $0, type) }
        if json {
            print(try JSONText.of(PropertyList(found.map(\.tree))))
        } else {
            for finding in found { print("\(finding.file): \(finding.text)") }
        }
        if let status = found.map(\.status).max() {
            var failure = Failure.told
            failure.status = status
            throw failure
        }
    }

    private static func type(_ text: String) throws -> CodableType {
        guard text.hasSuffix(".kvtypes") else { return try Domain(text).requiredType() }
        return try about(text) { try TypeRegistry().schema(try TextFile.read(text)) }
    }

    private func findings(in file: Source, _ type: CodableType?) -> [Finding] {
        do {
            if file.text.hasSuffix(".kvtypes") {
                try check(try TextFile.read(file.text))
                return []
            }
            let type = try type ?? file.type()
            let source = try file.inFile()
            // A program that has stored nothing yet has its defaults.
            if try file.isDomain(), !exists(source.text) { return [] }
            let content = try source.read()
            // The store's own error: a store's file cannot be OpenStep text, which other files may be.
            if try file.isDomain(), content.format == .openStep { _ = try Domain(file.text).opened() }
            guard let type else { return [] }
            if content.list.isKeyedArchive {
                let faults = Check(type).faults(in: try about(file.text) { try content.list.unarchived() })
                return faults.map { Finding(file: file.text, text: $0.message, path: $0.path) }
            }
            return findings(of: Check(type).faults(in: content.list), in: file, source, content)
        } catch let failure as Failure {
            return [Finding(file.text, failure)]
        } catch {
            return [Finding(file.text, Failure(error, of: file.text))]
        }
    }

    /// Checks declarations, and where they name a root, whether that can be a store's.
    private func check(_ text: String) throws {
        _ = try TypeRegistry().declare(text)
        if let root = try? TypeRegistry().schema(text) { _ = try DefaultsSchema(root) }
    }

    /// No person reads more faults; the locations of more would take long to find.
    private static let mostLocations = 100

    /// Each fault with line and column, where the file is a text of XML or JSON.
    private func findings(
        of faults: [Check.Fault], in file: Source, _ source: Source, _ content: Source.Content
    ) -> [Finding] {
        if faults.isEmpty { return [] }
        let bytes = content.bytes ?? (try? TextFile.bytes(source.text))
        let paths = faults.prefix(Self.mostLocations).map(\.path)
        let locations = bytes.map { PropertyListPath.locations(of: paths, in: $0, as: content.format) } ?? []
        return faults.enumerated().map { number, fault in
            let location = number < locations.count ? locations[number] : nil
            return Finding(file: file.text, text: fault.message(at: location), path: fault.path, location: location)
        }
    }
}

/// A fault in a file, and its path and location.
private struct Finding {
    let file: String
    let text: String
    var path: PropertyListPath?
    var location: PropertyListError.Location?
    var status: Int32 = 2

    /// As JSON: the message as it is printed, and its parts.
    var tree: PropertyList {
        var tree: [String: PropertyList] = ["file": PropertyList(file), "message": PropertyList(text)]
        tree["path"] = path.map { PropertyList($0.text) }
        switch location {
        case .line(let line, let column)?: (tree["line"], tree["column"]) = (PropertyList(line), PropertyList(column))
        case .offset(let byte)?: tree["byte"] = PropertyList(byte)
        case nil: break
        }
        return PropertyList(tree)
    }
}

extension Finding {
    init(_ file: String, _ failure: Failure) {
        self.init(
            file: file, text: failure.message ?? "", path: failure.path, location: failure.location,
            status: failure.status)
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
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(String(cString: strerror(errno)), of: path) }
        defer { close(descriptor) }
        return try about(path) { try bytes(of: descriptor) }
    }

    /// The bytes that can be read of a descriptor, up to the size that files may have.
    static func bytes(of descriptor: Int32) throws -> [UInt8] {
        let most = PropertyListLimits().fileBytes
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= most {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count > 0 {
                bytes += buffer[..<count]
            } else if count == 0 {
                return bytes
            } else if errno == EAGAIN {
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&entry, 1, -1)
            } else if errno != EINTR {
                throw Failure(String(cString: strerror(errno)))
            }
        }
        throw Failure("Expected at most \(most) bytes, found more")
    }
}

extension CodableType {
    /// The keys of a struct, or of an enum with associated values.
    fileprivate var knownKeys: [String] { members.map(\.key) + cases.filter { $0.rawValue == nil }.map(\.name) }
}

/// A check of a whole dictionary by its type: the fault of each setting, and keys that were most likely misspelt.
struct Check {
    struct Fault {
        let path: PropertyListPath
        let message: String
    }

    private let type: CodableType

    init(_ type: CodableType) { self.type = type }

    func faults(in list: PropertyList) -> [Fault] {
        // A store need not have all its settings.
        guard list.kind == .dictionary, !type.members.isEmpty else {
            return faults(in: list, type, at: []) + strays(in: list, type, at: [])
        }
        return innerFaults(of: list, type, at: []) + strays(in: list, type, at: [])
    }

    /// The faults of a value: those of its parts, of required fields that are not there, and else its own. Recursion is
    /// bounded by the depth of values.
    private func faults(in list: PropertyList, _ type: CodableType, at path: PropertyListPath) -> [Fault] {
        guard let own = ownFault(of: list, type, at: path) else { return [] }
        let found = innerFaults(of: list, type, at: path) + absences(in: list, type, at: path)
        return found.isEmpty ? [own] : found
    }

    private func innerFaults(of list: PropertyList, _ type: CodableType, at path: PropertyListPath) -> [Fault] {
        func faults(_ step: PropertyListPath.Step, _ value: PropertyList) -> [Fault] {
            type.member(at: [step]).map { self.faults(in: value, $0.type, at: path.appending(step)) } ?? []
        }
        switch list.kind {
        case .dictionary: return list.entries.flatMap { faults(.key($0), $1) }
        case .array: return list.elements.enumerated().flatMap { faults(.index($0), $1) }
        default: return []
        }
    }

    private func absences(in list: PropertyList, _ type: CodableType, at path: PropertyListPath) -> [Fault] {
        guard list.kind == .dictionary else { return [] }
        return type.members.filter { !$0.mayBeAbsent && list[$0.key] == nil }.map { member in
            let missing = path.appending(.key(member.key))
            return Fault(path: path, message: "Expected \(member.type) at \(missing.text), found nothing")
        }
    }

    private func ownFault(of list: PropertyList, _ type: CodableType, at path: PropertyListPath) -> Fault? {
        do throws(TypeError) {
            _ = try type.read(list, at: path)
            return nil
        } catch {
            return Fault(path: error.path, message: words(of: error, self.type))
        }
    }

    /// The key of a path that is nearly that of a setting, and none.
    func fault(of path: PropertyListPath) -> Fault? {
        var outer = type
        for (count, step) in path.steps.enumerated() {
            guard let member = outer.member(at: [step]) else {
                guard case .key(let key) = step else { return nil }
                let wrong = PropertyListPath(Array(path.steps[...count]))
                let members = outer.members
                // The name that programs see, where the file has another.
                let renamed = members.first { $0.name == key }?.key
                let meant = renamed ?? CloseNames(outer.knownKeys).closest(to: key)
                return meant.map { misspelling(of: outer, at: wrong, $0) }
            }
            outer = member.type
        }
        return nil
    }

    /// As ``faults(in:)`` finds them in a value at a path: the misspelt keys alone.
    func strays(in list: PropertyList, at path: PropertyListPath) -> [Fault] {
        type.member(at: path).map { strays(in: list, $0.type, at: path) } ?? []
    }

    private func strays(in list: PropertyList, _ type: CodableType, at path: PropertyListPath) -> [Fault] {
        var comparisons = Self.mostComparisons
        return strays(in: list, type, at: path, &comparisons)
    }

    /// Each unknown key is compared with each absent one: of very many the first, which take a second.
    private static let mostComparisons = 1 << 20

    private func misspelling(of type: CodableType, at path: PropertyListPath, _ meant: String) -> Fault {
        Fault(path: path, message: "\(type.wrapped) has no \(path.text); did you mean \(meant)?")
    }

    /// Unknown keys that are nearly those of a setting that is absent. Any other belongs to another program. Recursion
    /// is bounded by the depth of values.
    private func strays(
        in list: PropertyList, _ type: CodableType, at path: PropertyListPath, _ comparisons: inout Int
    ) -> [Fault] {
        if list.kind == .array, let element = type.element {
            return list.elements.enumerated().flatMap {
                strays(in: $1, element, at: path.appending(.index($0)), &comparisons)
            }
        }
        guard list.kind == .dictionary else { return [] }
        // Most values have no unknown keys.
        var absent: (names: CloseNames, count: Int)?
        return list.entries.flatMap { key, value -> [Fault] in
            let inner = path.appending(.key(key))
            if let member = type.member(at: [.key(key)]) {
                return strays(in: value, member.type, at: inner, &comparisons)
            }
            guard comparisons > 0 else { return [] }
            let (names, count) = absent ?? unused(of: type, in: list)
            absent = (names, count)
            comparisons -= count
            return names.closest(to: key).map { [misspelling(of: type, at: inner, $0)] } ?? []
        }
    }

    private func unused(of type: CodableType, in list: PropertyList) -> (names: CloseNames, count: Int) {
        let keys = type.knownKeys.filter { list[$0] == nil }
        return (CloseNames(keys), keys.count)
    }
}
