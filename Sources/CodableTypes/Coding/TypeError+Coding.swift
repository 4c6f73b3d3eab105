internal import KeyValueCoding
internal import PropertyLists

extension TypeError {
    /// The error of a Swift type's own code, in this room's terms: the same words, the path apart from them.
    init(_ error: any Error) {
        switch error {
        case let error as TypeError: self = error
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            self.init(context.debugDescription, context.underlyingError, at: context.codingPath)
        case DecodingError.keyNotFound(let key, let context):
            self.init(missing: key, context)
        case EncodingError.invalidValue(_, let context):
            self.init(context.debugDescription, context.underlyingError, at: context.codingPath)
        default: self.init(.mismatch, "\(error)")
        }
    }

    /// The coder's finding; for an error of the type's own, its text as it is.
    private init(_ text: String, _ underlying: (any Error)?, at codingPath: [any CodingKey]) {
        if let found = CodingError(underlying: underlying, text: text, at: codingPath) {
            self.init(found.isInexact ? .notRepresentable : .mismatch, found.words)
        } else {
            // A path, or the value found, may follow: the text is no sentence then.
            self.init(.mismatch, ErrorWords(fault: text.hasSuffix(".") ? String(text.dropLast()) : text))
        }
        path = Self.path(codingPath)
    }

    private init(missing key: any CodingKey, _ context: DecodingError.Context) {
        if let index = key.intValue {
            self = .missingElement(index)
        } else {
            self = .missingField(key.stringValue)
        }
        path = Self.path(context.codingPath)
    }

    private static func path(_ codingPath: [any CodingKey]) -> PropertyListPath {
        PropertyListPath(codingPath.map { key in key.intValue.map { .index($0) } ?? .key(key.stringValue) })
    }
}
