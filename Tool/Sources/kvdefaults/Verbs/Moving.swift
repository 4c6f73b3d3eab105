import ArgumentParser
import DomainAccess
import KVCodable

struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a domain's own values: XML, binary, JSON, or commands that set them.",
        discussion: """
            Secrets are among them: it is what another machine needs. A new file is the user's alone. kvdefaults copy \
            makes a database.
            """)

    @OptionGroup var store: StoreArguments
    @Argument(help: "The new file; standard output without one.", completion: .file()) var file: String?
    @Option(help: "The format: xml, binary, json or commands.") var format: Format?

    private var domain: Domain { store.domain }

    func run() throws {
        guard domain.isThere(try domain.type()) else {
            throw Failure.absent("There is no such store", of: domain.text)
        }
        guard let format = format ?? (file == nil ? .xml : file.flatMap(Format.init(file:))) else {
            throw Failure("Expected --format, or a name that ends in .plist, .xml or .json", of: file)
        }
        try Output.write("Exporting", as: format, of: domain, to: file) {
            try about(domain.text) { try domain.opened().dictionary(of: .application) }
        }
    }
}

struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Takes the entries of a file into a domain, in one step; its other settings stay.",
        discussion: "A published type must accept them. Of a keyed archive the plain value is taken.")

    @OptionGroup var store: StoreArguments
    @Argument(help: "The file; - is standard input.", completion: .file()) var file: Source

    private var domain: Domain { store.domain }

    func run() throws {
        try Progress.shown("Importing") {
            let list = try file.value(unarchives: true, masks: false)
            guard list.kind == .dictionary else {
                throw Failure("Expected Dictionary as what is imported, found \(list.kind)", of: file.text)
            }
            let type = try domain.type()
            let store = try domain.openedForWriting(type)
            try about(domain.text, type) {
                try store.import(
                    list.serialized(as: .binary), limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
                try store.sync()
                try store.close()
            }
        }
    }
}

struct Copy: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copies a domain into another, whose own values it replaces, whatever the engine.",
        discussion: """
            A domain is a name or a path: kvdefaults copy com.example.app /backup/app.sqlite. The type \
            that is published for the new one must accept the values.
            """)

    @Argument(help: "A store's name, or the path of its file.") var from: Domain
    @Argument(help: "The store that it becomes.") var to: Domain
    @Flag(help: "Keep the new domain in a SQLite database.") var sqlite = false

    func run() throws {
        guard from.isThere(nil) else { throw Failure.absent("There is no such store", of: from.text) }
        if sqlite { try refuseOtherFile() }
        try Progress.shown("Copying") {
            let type = try to.type()
            let source = try from.opened()
            let target = try to.openedForWriting(type, engine: sqlite ? .sqlite : nil)
            try about(to.text, type) {
                try source.copy(to: target)
                try target.sync()
                try target.close()
            }
        }
    }

    /// Of two files of a name every verb reads the property list: a database beside it would be of no use.
    private func refuseOtherFile() throws {
        guard !to.isFile, let file = try DefaultsStore.path(of: to.text), exists(file) else {
            return
        }
        throw Failure("Expected no other file of that name, found \(file), which would still be read", of: to.text)
    }
}
