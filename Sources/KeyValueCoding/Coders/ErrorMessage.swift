/// Says what an error is, in the words of a library that this module does not import.
///
/// The face over full Foundation supplies one, so that messages carry the `localizedDescription` there.
package protocol ErrorDescriber {
    static func message(of error: any Error) -> String
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
