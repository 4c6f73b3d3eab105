internal import FoundationEssentials

/// What all decoders and containers of one call of `decode` share. Used by one thread.
final class DecodingContext {
    let options: KeyValueDecoder
    let converts: Bool
    let passesFloats: Bool
    /// The string that stands for nil, if one does.
    let sentinel: String?
    /// Whether the strategy takes an Optional without a value as nil.
    let takesOptionals: Bool
    /// A caller's own test for nil.
    let isPlaceholder: (@Sendable (Any) -> Bool)?
    private var converted: [String: String] = [:]

    init(_ options: KeyValueDecoder) {
        self.options = options
        if case .useDefaultKeys = options.keyDecodingStrategy { converts = false } else { converts = true }
        if case .pass = options.nonConformingFloatDecodingStrategy { passesFloats = true } else { passesFloats = false }
        switch options.nilDecodingStrategy {
        case .removed, .optionalNone: (sentinel, takesOptionals, isPlaceholder) = (nil, true, nil)
        case .sentinel(let text): (sentinel, takesOptionals, isPlaceholder) = (text, false, nil)
        case .placeholder(_, let isNull): (sentinel, takesOptionals, isPlaceholder) = (nil, false, isNull)
        }
    }

    /// The snake case form of a property's name.
    func snakeCase(_ name: String) -> String {
        if let known = converted[name] { return known }
        let result = SnakeCase.encoded(name)
        converted[name] = result
        return result
    }
}
