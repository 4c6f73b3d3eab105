import ArgumentParser
import DomainAccess
import KVCodable

struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the value of a setting.",
        discussion: "A string is printed as it is, other values as JSON. Exit status 1 where there is no value.")

    @OptionGroup var store: StoreArguments
    @Argument(help: "The setting; all of them without one.", completion: .custom(Completion.paths))
    var path = ""
    @Flag(help: "Print JSON, strings too.") var json = false
    @Flag(help: "Print an XML property list.") var xml = false
    @Flag(
        help: """
            Print where the value comes from as well: its layer, and the file. Of a dictionary that several layers make up \
            a line for each part, with its path.
            """) var origin = false

    private var domain: Domain { store.domain }

    func validate() throws {
        if xml && (json || origin) { throw ValidationError("Expected --xml, or --json and --origin, found both") }
    }

    /// A get without options, from the words of the command line; nil where they are any other command.
    ///
    /// The parser of arguments takes more time than a get: scripts that read many settings are spared it.
    static func plain(_ words: [String]) -> Get? {
        guard words.count == 4, words[1] == "get", !words[2...].contains(where: { $0.hasPrefix("-") }) else {
            return nil
        }
        var command = Get()
        var store = StoreArguments()
        store.domain = Domain(words[2])
        command.store = store
        command.path = words[3]
        (command.json, command.xml, command.origin) = (false, false, false)
        return command
    }

    func run() throws {
        let location = try DomainAccess.path(path, of: domain)
        let type = try domain.type()
        if type?.member(at: location)?.words.isSecret == true {
            throw Failure("\(path) is a secret, which is not shown", of: domain.text)
        }
        if location.isEmpty, !domain.isThere(type) {
            throw Failure.absent("There is no such store", of: domain.text)
        }
        let (value, parts) = try about(domain.text, type) { try shown(location, type) }
        if xml {
            print(
                try String(decoding: about(domain.text) { try value.serialized(as: .xml) }, as: UTF8.self),
                terminator: "")
        } else if origin && json {
            print(try JSONText.of(answer(value, parts, at: location)))
        } else {
            print(try json ? JSONText.of(value) : Values.text(value))
            for part in parts { print(line(part, at: location)) }
        }
    }

    /// The value without its secrets, and with --origin its parts.
    private func shown(
        _ location: PropertyListPath, _ type: CodableType?
    ) throws -> (PropertyList, [Layers.Part]) {
        let layers = Layers(store: try domain.opened(type), type: type)
        guard let found = try layers.value(at: location) else {
            throw Failure.absent("There is no value at \(path)", of: domain.text)
        }
        let value = Values.masked(found, type, at: location)
        return (value, origin ? try layers.parts(of: value, at: location) : [])
    }

    private func line(_ part: Layers.Part, at location: PropertyListPath) -> String {
        let path = part.path == location ? [] : [part.path.text]
        return (path + [part.layer] + [part.origin.file].compactMap { $0 }).joined(separator: "\t")
    }

    private func answer(
        _ value: PropertyList, _ parts: [Layers.Part], at location: PropertyListPath
    ) throws -> PropertyList {
        var entries = [("value", value)]
        let origins = parts.map { ($0.path, origin(of: $0)) }
        if let first = origins.first, first.0 == location {
            entries += first.1
        } else {
            entries.append(
                ("origins", try PropertyList(entries: origins.map { ($0.text, try PropertyList(entries: $1)) })))
        }
        return try PropertyList(entries: entries)
    }

    private func origin(of part: Layers.Part) -> [(String, PropertyList)] {
        [("layer", PropertyList(part.layer))] + (part.origin.file.map { [("file", PropertyList($0))] } ?? [])
    }
}
