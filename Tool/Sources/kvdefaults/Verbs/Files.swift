import ArgumentParser
import DomainAccess
import KVCodable

struct Print: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints a file or a domain as JSON.",
        discussion: "XML, binary, OpenStep and JSON are read; of a keyed archive the plain value. - is standard input.")

    @Argument(help: "A file or a domain.") var source: Source
    @Argument(help: "Only the value at this path.", completion: .custom(Completion.paths)) var path = ""
    @Flag(help: "Print a keyed archive as it is.") var raw = false
    @Flag(help: "Print JSON, as without it.") var json = false

    func run() throws {
        let path = try DomainAccess.path(path, of: Domain(source.text))
        guard let value = try source.value(unarchives: !raw).value(at: path) else {
            throw Failure.absent("There is no value at \(self.path)", of: source.text)
        }
        print(try about(source.text) { try JSONText.of(value) })
    }
}

struct Convert: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a file in another format.",
        discussion: "To standard output, or into another file, whose name says the format where no option does.")

    @Argument(help: "The file; - is standard input.", completion: .file()) var input: Source
    @Argument(help: "The new file.", completion: .file()) var output: String?
    @Option(help: "The format: xml, binary or json.", completion: .list(["xml", "binary", "json"])) var to: Format?
    @Flag(help: "Of a keyed archive write the plain value.") var unarchive = false

    func validate() throws {
        if to == .commands { throw ValidationError("Expected xml, binary or json, found commands") }
    }

    func run() throws {
        guard let format = to ?? output.flatMap(Format.init(file:)) else {
            throw Failure("Expected --to xml, --to binary or --to json", of: input.text)
        }
        try Output.write("Converting", as: format, of: nil, to: output) {
            let list = try input.read().list
            return try about(input.text) { unarchive && list.isKeyedArchive ? try list.unarchived() : list }
        }
    }
}

struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows by path where two files or domains differ.",
        discussion:
            "Lines with - are of the first, those with + of the second. Exit status 0 where they are equal, 1 where not."
    )

    @Argument(help: "A file or a domain.") var first: Source
    @Argument(help: "Another.") var second: Source
    @Flag(help: "Print JSON.") var json = false

    func run() throws {
        // Secrets differ, too; they are only not shown.
        let types = try [first, second].map { try $0.type() }
        let changes = Difference.between(
            try first.value(unarchives: true, masks: false), try second.value(unarchives: true, masks: false)
        ).map { $0.masked(types) }
        if json {
            let list = changes.map { change in
                var entry: [String: PropertyList] = ["path": PropertyList(change.path.text)]
                (entry["old"], entry["new"]) = (change.old, change.new)
                return PropertyList(entry)
            }
            print(try JSONText.of(PropertyList(list)))
        } else {
            for change in changes {
                if let old = change.old { print("- \(change.path.text) = \(Values.line(old))") }
                if let new = change.new { print("+ \(change.path.text) = \(Values.line(new))") }
            }
        }
        if !changes.isEmpty { throw Failure.differing }
    }
}
