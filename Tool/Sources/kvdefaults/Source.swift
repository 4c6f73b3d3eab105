import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

/// A value from a file of any format, from standard input (`-`), or from a domain.
struct Source: ExpressibleByArgument {
    let text: String

    init?(argument: String) { text = argument }
    private init(file: String) { text = file }

    static var defaultCompletionKind: CompletionKind { .custom(Completion.sources) }

    private var domain: Domain { Domain(text) }

    /// Whether the text means a store: one of that name is there or has a type, or it is the path of such a one's file.
    func isDomain() throws -> Bool {
        guard text != "-", domain.named != nil else { return false }
        return try domain.hasFile || !exists(text) && domain.type() != nil
    }

    /// The file of a domain, which need not be there; a file itself.
    func inFile() throws -> Source {
        guard try isDomain(), let file = domain.file else { return self }
        return Source(file: file)
    }

    /// The type that is published for a domain; nil for a file.
    func type() throws -> CodableType? { try isDomain() ? try domain.type() : nil }

    /// - Parameters:
    ///   - unarchives: whether of a keyed archive the plain value is given.
    ///   - masks: whether a domain's secrets are left out.
    func value(unarchives: Bool, masks: Bool = true) throws -> PropertyList {
        if try isDomain() {
            let type = masks ? try domain.type() : nil
            return try about(text) {
                Values.masked(try domain.opened().dictionary(of: .application), type)
            }
        }
        let list = try read().list
        return try about(text) { unarchives && list.isKeyedArchive ? try list.unarchived() : list }
    }

    /// The contents of a file.
    struct Content {
        let list: PropertyList
        let format: PropertyListFormat
        /// The text of a source that cannot be read twice.
        var bytes: [UInt8]?
    }

    /// The value of a file or of standard input, and its format.
    func read() throws -> Content {
        try about(text) {
            if isStream {
                let bytes = try text == "-" ? TextFile.bytes(of: STDIN_FILENO) : TextFile.bytes(text)
                let (list, format) = try PropertyList.parse(bytes)
                return Content(list: format == .json ? try list.valueOfJSONForm() : list, format: format, bytes: bytes)
            }
            if text.hasSuffix(".sqlite") || text.hasSuffix(".db") {
                return Content(list: try domain.opened().dictionary(of: .application), format: .binary)
            }
            guard let (list, format) = try PropertyListFile.read(text) else { throw absence }
            return Content(list: format == .json ? try list.valueOfJSONForm() : list, format: format)
        }
    }

    /// Whether it can be read only once: standard input, and a shell's file for the output of a command.
    private var isStream: Bool {
        var status = stat()
        return text == "-" || text.hasPrefix("/dev/") || stat(text, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    private var absence: Failure {
        domain.isFile
            ? Failure("There is no such file", of: text) : .absent("There is no such store or file", of: text)
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

/// Writes an export: to a file, as a whole, or to standard output.
enum Output {
    /// Makes the bytes of the result of `value`, with the seconds where that takes long: they are gone when it is
    /// printed.
    static func write(
        _ title: String, as format: Format, of domain: Domain?, to file: String?, _ value: () throws -> PropertyList
    ) throws {
        let bytes = try Progress.shown(title) {
            let list = try value()
            if let file, let known = format.ofFiles {
                return try about(file) {
                    try PropertyListFile.write(format == .json ? list.jsonForm() : list, to: file, as: known)
                    return [UInt8]()
                }
            }
            let bytes = try about(domain?.text ?? file ?? "-") { try Self.bytes(of: list, as: format, domain) }
            guard let file else { return bytes }
            try about(file) { try PropertyListFile.write(contents: bytes, to: file) }
            return []
        }
        StandardOutput.append(bytes)
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
