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
        abstract: "Removes settings.",
        discussion: """
            A setting at the top has its default then. Inside a dictionary a value is gone, also one that an administrator \
            or the program gives as a default; kvdefaults reset brings it back. Several at once in one step. Exit status 1 \
            where one of them had no value: nothing is removed then.
            """)

    @OptionGroup var settings: Settings

    func run() throws { try settings.change("There is no value at") { try $0.remove(at: $1) } }
}

struct Reset: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Removes what the user's file says of settings, which have their defaults then.",
        discussion: """
            Several at once in one step. Exit status 1 where the user's file said nothing of one of them: nothing is \
            changed then.
            """)

    @OptionGroup var settings: Settings

    func run() throws { try settings.change("The user's file has nothing at") { try $0.reset(at: $1) } }
}

/// A store and some of its settings.
struct Settings: ParsableArguments {
    @OptionGroup var store: StoreArguments
    @Argument(help: "The settings.", completion: .custom(Completion.paths)) var paths: [String]

    /// Changes the settings in one transaction.
    ///
    /// - Parameters:
    ///   - absence: the error's words in front of the path of a setting that did not change.
    ///   - body: says whether a setting changed.
    func change(
        _ absence: String, _ body: (DefaultsTransaction, PropertyListPath) throws -> Bool
    ) throws {
        let domain = store.domain
        try domain.change { transaction, _ in
            for text in paths where try !body(transaction, PropertyListPath(text: text)) {
                throw Failure.absent("\(absence) \(text)", of: domain.text)
            }
        }
    }
}
