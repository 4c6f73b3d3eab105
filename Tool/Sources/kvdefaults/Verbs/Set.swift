import ArgumentParser
import KVCodable

struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sets settings, several at once in one step.",
        discussion: """
            The published type says how a value is read: a word for a string, a case, a date or a URL, else JSON. \
            Without one it is JSON, and what is no JSON is a string. Put -- in front of values that begin with a minus.
            """)

    @Argument var domain: Domain
    @Argument(help: "Paths, each with its value behind it.", completion: .custom(Completion.assignments))
    var assignments: [String]
    @Option(help: "Read the values as this type, such as 'Int(0...10)' or '[String]'.") var type: String?

    func validate() throws {
        guard !assignments.isEmpty, assignments.count.isMultiple(of: 2) else {
            throw ValidationError("Expected a value behind each path: kvdefaults set DOMAIN PATH VALUE")
        }
    }

    func run() throws {
        let given = try type.map { text in try about("--type") { try TypeRegistry().type(text) } }
        try domain.change { transaction, published in
            for index in stride(from: 0, to: assignments.count, by: 2) {
                let place = try PropertyListPath(text: assignments[index])
                let type = given ?? published?.member(at: place)?.type
                let value = try Values.read(assignments[index + 1], as: type, at: place)
                try transaction.set(value, at: place)
            }
        }
    }
}

struct Unset: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Removes settings, which have their defaults then.",
        discussion:
            "Several at once in one step. Exit status 1 where one of them had no value: nothing is removed then.")

    @Argument var domain: Domain
    @Argument(help: "The settings.", completion: .custom(Completion.paths)) var paths: [String]

    func run() throws {
        try domain.change { transaction, _ in
            for text in paths {
                guard try transaction.remove(at: try PropertyListPath(text: text)) else {
                    throw Failure.absent("There is no value at \(text)", of: domain.text)
                }
            }
        }
    }
}
