package import PropertyLists

/// Describes an error in the words of a library that this module does not import.
///
/// The face over full Foundation supplies one, so that messages carry the `localizedDescription` there.
package protocol ErrorDescriber {
    static func message(of error: any Error) -> String
}

/// A coder's finding, in parts: the error that underlies a coder's `DecodingError` or `EncodingError`, whose text is
/// made of it.
package struct CodingError: Error, Sendable {
    /// `Expected String, found Int`, without the path.
    package let words: ErrorWords
    /// Whether the error is about a number that the wanted type cannot hold.
    package let isInexact: Bool

    init(_ words: ErrorWords, isInexact: Bool = false) { (self.words, self.isInexact) = (words, isInexact) }
}

extension CodingError {
    /// The error that underlies a coder's; nil where the text is a program's own.
    package init?(underlying error: (any Error)?, text: String, at path: [any CodingKey]) {
        let own = (error as? PropertyListError).map { CodingError(unwritable: $0) } ?? error as? CodingError
        guard let own, own.words.text(at: path.text(in: nil)) == text else { return nil }
        self = own
    }

    /// The finding about a value that the tree cannot hold.
    init(unwritable error: PropertyListError) {
        self.init(ErrorWords(fault: "Value", ending: " cannot be encoded. \(error.message)"))
    }
}

extension CodingError: CustomStringConvertible {
    package var description: String { words.description }
}

extension CodingError {
    /// - Parameter underlying: the error that a program's own code threw, which replaces this one.
    func decodingContext(
        at path: [any CodingKey], in location: PropertyListPath?, underlying: (any Error)? = nil
    ) -> DecodingError.Context {
        DecodingError.Context(
            codingPath: path, debugDescription: words.text(at: path.text(in: location)),
            underlyingError: underlying ?? self)
    }

    func encodingContext(
        at path: [any CodingKey], in location: PropertyListPath?, underlying: (any Error)? = nil
    ) -> EncodingError.Context {
        EncodingError.Context(
            codingPath: path, debugDescription: words.text(at: path.text(in: location)),
            underlyingError: underlying ?? self)
    }
}

extension DecodingError {
    /// The error, in the caller's words, of a value at `location` in a holder such as a store.
    package static func mismatch(
        _ type: any Any.Type, _ words: ErrorWords, at location: PropertyListPath
    ) -> DecodingError {
        .typeMismatch(type, CodingError(words).decodingContext(at: location.codingPath, in: location))
    }
}

/// The text for an error that a strategy's closure threw.
func message(of error: any Error) -> String {
    switch error {
    case EncodingError.invalidValue(_, let context): return context.debugDescription
    case let error as DecodingError: return error.context?.debugDescription ?? "\(error)"
    default: return describer?.message(of: error) ?? "\(error)"
    }
}

/// The type that the face over full Foundation makes an ``ErrorDescriber``: a conformance is found even if no code of
/// the face has run before.
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
