internal import PropertyLists

/// Says what an error is, in the words of a library that this module does not import.
///
/// The face over full Foundation supplies one, so that messages carry the `localizedDescription` there.
package protocol ErrorDescriber {
    static func message(of error: any Error) -> String
}

/// What a coder found wrong, in parts: the error that underlies a coder's `DecodingError` or `EncodingError`, whose
/// text is made of it.
package struct CodingError: Error, Sendable {
    /// What was expected, or what the error is about: `Expected String`.
    package let subject: String
    /// What was found, or what cannot be done: `, found Int`.
    package let finding: String
    /// Whether a number was found that the wanted type cannot hold.
    package let isInexact: Bool

    init(_ subject: String, _ finding: String, isInexact: Bool = false) {
        (self.subject, self.finding, self.isInexact) = (subject, finding, isInexact)
    }

    /// The whole text, with the place between the two.
    func text(at location: String) -> String { "\(subject) at \(location)\(finding)" }
}

extension CodingError {
    /// The error that underlies a coder's; nil where the text is not made of it, but a program's own.
    package init?(underlying error: (any Error)?, text: String, at path: [any CodingKey]) {
        let own = (error as? PropertyListError).map { CodingError(unwritable: $0) } ?? error as? CodingError
        guard let own, own.text(at: path.text(in: nil)) == text else { return nil }
        self = own
    }

    /// What the tree could not hold.
    init(unwritable error: PropertyListError) {
        self.init("Value", " cannot be encoded. \(error.message)")
    }
}

extension CodingError: CustomStringConvertible {
    package var description: String { subject + finding }
}

extension CodingError {
    /// - Parameter underlying: what a program's own code threw, which then stands in this error's place.
    func decodingContext(
        at path: [any CodingKey], in location: PropertyListPath?, underlying: (any Error)? = nil
    ) -> DecodingError.Context {
        DecodingError.Context(
            codingPath: path, debugDescription: text(at: path.text(in: location)), underlyingError: underlying ?? self)
    }

    func encodingContext(
        at path: [any CodingKey], in location: PropertyListPath?, underlying: (any Error)? = nil
    ) -> EncodingError.Context {
        EncodingError.Context(
            codingPath: path, debugDescription: text(at: path.text(in: location)), underlyingError: underlying ?? self)
    }
}

/// What to tell about an error that a strategy's closure threw.
func message(of error: any Error) -> String {
    switch error {
    case EncodingError.invalidValue(_, let context): return context.debugDescription
    case let error as DecodingError: return error.context?.debugDescription ?? "\(error)"
    default: return describer?.message(of: error) ?? "\(error)"
    }
}

/// What the face over full Foundation makes an ``ErrorDescriber``: a conformance is found without that anything of the
/// face has run before.
package enum FullFoundation {}

/// Nil where the program has no full Foundation.
private var describer: (any ErrorDescriber.Type)? {
    let type: any Any.Type = FullFoundation.self
    return type as? any ErrorDescriber.Type
}

extension DecodingError {
    var context: Context? {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
            .dataCorrupted(let context):
            context
        @unknown default: nil
        }
    }
}
