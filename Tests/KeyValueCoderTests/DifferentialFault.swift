import Foundation

/// What is wrong with a value, and where, as an error tells it; the words are each coder's own.
struct Fault: Equatable, CustomStringConvertible {
    enum Kind { case typeMismatch, valueNotFound, keyNotFound, dataCorrupted, other }

    var kind: Kind
    var path: [String] = []
    /// The key that was not found.
    var key: String?

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
        path = (context?.codingPath ?? []).map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
    }

    var description: String { "\(kind) \(path.joined(separator: ".")) \(key ?? "")" }
}

/// The ways in which reading a changed value may differ from Foundation's, each with its reason.
enum Difference {
    /// A dictionary whose keys are of an enum, a number or the like: Foundation reads only the flat array of keys and
    /// values; we read a dictionary, too, since people write one.
    case readsDictionaries
    /// A number that the type cannot hold: Foundation has dataCorrupted, JSONDecoder without a path; our errors are
    /// those of the reference, a typeMismatch with its path.
    case numberDoesNotFit
    /// A super decoder for a key that is missing: Foundation tells it when the value is decoded, as a nil; we tell it
    /// at once, as every other missing key.
    case missingSuper
    /// No superclass's part under "super": Foundation tells it as a nil; we read that part from the dictionary itself,
    /// as the reference writes it, and tell what is wrong with it there.
    case readsFlatSuper
    /// An array that ends too soon: Foundation tells a missing element as a nil; our errors are those of the reference,
    /// a keyNotFound of the array.
    case missingElement

    /// Nil where there is no reason to differ.
    init?(_ theirs: any Error, _ ours: (any Error)?) {
        let first = Fault(theirs)
        if case DecodingError.typeMismatch(let type, _) = theirs, type == [Any].self,
            first.path.contains(where: { $0.hasPrefix("by") }),
            ours.map({ Fault($0).path.starts(with: first.path) }) ?? true
        {
            self = .readsDictionaries
            return
        }
        guard let ours else { return nil }
        let second = Fault(ours)
        if first.kind == .dataCorrupted, second.kind == .typeMismatch,
            "\(ours)".contains("cannot be exactly represented"),
            first.path == second.path || first.path.isEmpty
        {
            self = .numberDoesNotFit
        } else if first.kind == .valueNotFound, first.path.last == "super",
            second.path.starts(with: first.path.dropLast())
        {
            self = .readsFlatSuper
        } else if first.kind == .valueNotFound, second.kind == .keyNotFound {
            let parent = Array(first.path.dropLast())
            guard second.path == parent else { return nil }
            if let key = second.key, key == first.path.last {
                self = .missingSuper
            } else if second.key == nil {
                self = .missingElement
            } else {
                return nil
            }
        } else {
            return nil
        }
    }
}
