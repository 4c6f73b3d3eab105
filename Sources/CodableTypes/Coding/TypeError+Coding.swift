internal import PropertyLists

extension TypeError {
    /// The error of a Swift type's own code, in this room's terms: the same words, the path apart from them.
    init(_ error: any Error) {
        switch error {
        case let error as TypeError: self = error
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            self.init(context.debugDescription, context.codingPath, .mismatch)
        case DecodingError.dataCorrupted(let context):
            self.init(context.debugDescription, context.codingPath, .mismatch)
        case DecodingError.keyNotFound(let key, let context):
            self.init(missing: key, context)
        case EncodingError.invalidValue(_, let context):
            self.init(context.debugDescription, context.codingPath, .mismatch)
        default: self.init(.mismatch, "\(error)")
        }
    }

    /// The coders' message, taken apart at its path.
    private init(_ message: String, _ codingPath: [any CodingKey], _ code: Code) {
        let place = " at SELF" + Self.text(codingPath)
        let end = message.hasSuffix(".") ? message.dropLast() : message[...]
        var rest = end[...]
        self.init(code, String(end))
        while let next = rest.firstRange(of: place) {
            let finding = end[next.upperBound...]
            if finding.isEmpty || finding.first == "," || finding.first == " " {
                let isExact = finding.hasPrefix(", cannot be exactly")
                self.init(isExact ? .notRepresentable : code, String(end[..<next.lowerBound]), String(finding))
                break
            }
            rest = rest[next.upperBound...]
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

    private static func text(_ codingPath: [any CodingKey]) -> String {
        codingPath.map { key in key.intValue.map { "[\($0)]" } ?? "." + key.stringValue }.joined()
    }
}
