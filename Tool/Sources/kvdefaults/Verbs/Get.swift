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
    @Flag(help: "Print where the value comes from as well: its layer, and the file.") var origin = false

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
        let found = try about(domain.text, type) { try Layers(store: try domain.opened(type)).find(location) }
        guard let found else { throw Failure.absent("There is no value at \(path)", of: domain.text) }
        let value = Values.masked(found.value, type, at: location)
        if xml {
            print(
                try String(decoding: about(domain.text) { try value.serialized(as: .xml) }, as: UTF8.self),
                terminator: "")
        } else if origin && json {
            var answer: [String: PropertyList] = ["value": value, "layer": PropertyList(found.layer)]
            if let file = found.file { answer["file"] = PropertyList(file) }
            print(try JSONText.of(PropertyList(answer)))
        } else {
            print(try json ? JSONText.of(value) : Values.text(value))
            if origin { print("\(found.layer)\(found.file.map { "\t\($0)" } ?? "")") }
        }
    }
}
