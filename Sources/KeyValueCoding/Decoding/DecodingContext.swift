internal import FoundationEssentials
internal import PropertyLists

/// The state that all decoders and containers of one call of `decode` share. Used by one thread.
final class DecodingContext: CodingContext {
    let options: KeyValueDecoder
    /// The string that stands for nil, if one does.
    let sentinel: String?
    /// Whether the strategy takes an Optional without a value for nil.
    let takesOptionals: Bool
    /// A caller's own test for nil.
    let isPlaceholder: (@Sendable (Any) -> Bool)?
    /// Whether strings are read as values that a property list has no kind for, such as decimal numbers.
    let readsSpelledValues: Bool
    /// The root's record of the keys that are asked for; nil where the caller wants none.
    let record: KeyRecord?

    /// - Parameter forTree: whether the values come from a property-list tree, where a null is always nil, and
    ///   `"$null"` stands for an Optional without a value.
    init(
        _ options: consuming KeyValueDecoder, forTree: Bool = false, location: PropertyListPath? = nil,
        record: KeyRecord? = nil
    ) {
        self.options = options
        readsSpelledValues = forTree
        if case .ignore = self.options.leftOverKeyDecodingStrategy {
            self.record = record
        } else {
            self.record = record ?? KeyRecord(isExact: true)
        }
        let none: String? = forTree ? "$null" : nil
        switch self.options.nilDecodingStrategy {
        case .optionalNone: (sentinel, takesOptionals, isPlaceholder) = (none, true, nil)
        case .removed: (sentinel, takesOptionals, isPlaceholder) = (nil, true, nil)
        case .sentinel(let text): (sentinel, takesOptionals, isPlaceholder) = (text, forTree, nil)
        case .placeholder(_, let isNull): (sentinel, takesOptionals, isPlaceholder) = (nil, forTree, isNull)
        }
        let converts = if case .useDefaultKeys = self.options.keyDecodingStrategy { false } else { true }
        let passesFloats = if case .pass = self.options.nonConformingFloatDecodingStrategy { true } else { false }
        super.init(location: location, converts: converts, passesFloats: passesFloats)
    }
}
