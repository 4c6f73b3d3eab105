import Foundation

/// The fault of a value, and its path, as an error tells them; the words are each coder's own.
struct Fault: Equatable, CustomStringConvertible {
    enum Kind { case typeMismatch, valueNotFound, keyNotFound, dataCorrupted, other }

    var kind: Kind
    var path: [String] = []
    /// The key that was not found.
    var key: String?
    /// The words, which are not compared.
    var text = ""

    static func == (left: Fault, right: Fault) -> Bool {
        left.kind == right.kind && left.path == right.path && left.key == right.key
    }

    init(_ error: any Error) {
        switch error {
        case DecodingError.typeMismatch(_, let context): self.init(.typeMismatch, context)
        case DecodingError.valueNotFound(_, let context): self.init(.valueNotFound, context)
        case DecodingError.dataCorrupted(let context): self.init(.dataCorrupted, context)
        case DecodingError.keyNotFound(let key, let context):
            self.init(.keyNotFound, context)
            // Of an index past the end the key is its element's.
            self.key = key.intValue == nil ? key.stringValue : nil
        default: self.init(.other, nil)
        }
    }

    private init(_ kind: Kind, _ context: DecodingError.Context?) {
        self.kind = kind
        text = context?.debugDescription ?? ""
        path = (context?.codingPath ?? []).map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
    }

    var description: String { "\(kind) \(path.joined(separator: ".")) \(key ?? "")" }
}

/// The ways in which the error of a changed value may differ from Foundation's, each with its reason.
enum Difference {
    /// A number that the type cannot hold: Foundation has dataCorrupted, JSONDecoder without a path; our errors are
    /// those of the reference, a typeMismatch with its path.
    case numberDoesNotFit
    /// A super decoder for a key that is missing: Foundation tells it when the value is decoded, as a nil; we tell it
    /// at once, as every other missing key.
    case missingSuper
    /// An array that ends too soon: Foundation tells a missing element as a nil; our errors are those of the reference,
    /// a keyNotFound of the array.
    case missingElement

    /// Nil where there is no reason to differ.
    init?(_ theirs: Fault, _ ours: Fault) {
        if theirs.kind == .dataCorrupted, ours.kind == .typeMismatch,
            ours.text.contains("cannot be exactly represented"), theirs.path == ours.path || theirs.path.isEmpty
        {
            self = .numberDoesNotFit
            return
        }
        guard theirs.kind == .valueNotFound, ours.kind == .keyNotFound, ours.path == Array(theirs.path.dropLast())
        else { return nil }
        if let key = ours.key {
            guard key == theirs.path.last else { return nil }
            self = .missingSuper
        } else {
            self = .missingElement
        }
    }
}
