import ArgumentParser
import DomainAccess
import KVCodable

struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sets settings, several at once in one step.",
        discussion: """
            The published type says how a value is read: a word for a string, a case, a date or a URL, else JSON. \
            Without one it is JSON, and what is no JSON is a string. Put -- in front of values that begin with a minus. \
            A new key that is nearly that of a setting is refused; with --type Any it is set all the same.
            """)

    @OptionGroup var store: StoreArguments
    @Argument(help: "Paths, each with its value behind it.", completion: .custom(Completion.assignments))
    var assignments: [String]
    @Option(help: "Read the values as this type, such as 'Int(0...10)' or '[String]'.") var type: String?

    private var domain: Domain { store.domain }

    func validate() throws {
        guard !assignments.isEmpty, assignments.count.isMultiple(of: 2) else {
            throw ValidationError("Expected a value behind each path: kvdefaults set DOMAIN PATH VALUE")
        }
    }

    func run() throws {
        let given = try type.map { text in try about("--type") { try TypeRegistry().type(text) } }
        try domain.change { transaction, published in
            for index in stride(from: 0, to: assignments.count, by: 2) {
                let location = try PropertyListPath(text: assignments[index])
                let type = given ?? published?.member(at: location)?.type
                let isSecret = published.map { Values.isSecret(location, of: $0) } ?? false
                let value = try Values.read(assignments[index + 1], as: type, at: location, isSecret: isSecret)
                if given == nil { try refuseMistakes(assignments[index], location, value, published, transaction) }
                try transaction.setStored(value, at: location)
            }
        }
    }

    /// Refuses a path with its value in one word, and new keys that were most likely misspelt.
    private func refuseMistakes(
        _ text: String, _ location: PropertyListPath, _ value: PropertyList, _ type: CodableType?,
        _ transaction: DefaultsTransaction
    ) throws {
        if let equals = text.firstIndex(of: "="), !text.contains("\"") {
            let words = "\(text[..<equals]) \(text[text.index(after: equals)...])"
            throw Failure("Expected a path and its value as two words, \(words), found \(text)", of: domain.text)
        }
        guard let check = type.map(Check.init) else { return }
        let isNew = try transaction.stored(at: location) == nil
        if let fault = (isNew ? check.fault(of: location) : nil) ?? check.strays(in: value, at: location).first {
            throw Failure(fault.message, of: domain.text)
        }
    }
}

struct Unset: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Removes settings, which have their defaults then.",
        discussion:
            "Several at once in one step. Exit status 1 where one of them had no value: nothing is removed then.")

    @OptionGroup var store: StoreArguments
    @Argument(help: "The settings.", completion: .custom(Completion.paths)) var paths: [String]

    private var domain: Domain { store.domain }

    func run() throws {
        try domain.change { transaction, _ in
            for text in paths {
                guard try transaction.reset(at: try PropertyListPath(text: text)) else {
                    throw Failure.absent("There is no value at \(text)", of: domain.text)
                }
            }
        }
    }
}
