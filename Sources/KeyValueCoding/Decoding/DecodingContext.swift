internal import FoundationEssentials
internal import PropertyLists

/// What all decoders and containers of one call of `decode` share. Used by one thread.
final class DecodingContext {
    let options: KeyValueDecoder
    /// Where the value is in what holds it, such as a store: paths begin with it. Nil for a value on its own.
    let place: PropertyListPath?
    let converts: Bool
    let passesFloats: Bool
    /// Whether a date is a date under the strategy.
    let readsDates: Bool
    /// The string that stands for nil, if one does.
    let sentinel: String?
    /// Whether a text of another length may be equal to that string.
    let hasManySentinels: Bool
    /// Whether the strategy takes an Optional without a value as nil.
    let takesOptionals: Bool
    /// A caller's own test for nil.
    let isPlaceholder: (@Sendable (Any) -> Bool)?
    /// Whether strings are read as values that a property list has no kind for, such as decimal numbers.
    let readsSpelledValues: Bool
    @exclusivity(unchecked) var containers = DecodingContainers()
    private var converted: [String: String] = [:]
    let ownTypes = OwnTypes.shared
    @exclusivity(unchecked) private var ways: [(type: ObjectIdentifier, way: DecodingWay)] = []

    /// - Parameter forTree: whether the values come from a property-list tree, where a null is always nil, and
    ///   `"$null"` takes the place of an Optional without a value.
    init(_ options: consuming KeyValueDecoder, forTree: Bool = false, place: PropertyListPath? = nil) {
        self.options = options
        self.place = place
        readsSpelledValues = forTree
        if case .useDefaultKeys = self.options.keyDecodingStrategy { converts = false } else { converts = true }
        if case .pass = self.options.nonConformingFloatDecodingStrategy {
            passesFloats = true
        } else {
            passesFloats = false
        }
        if case .date = self.options.dateDecodingStrategy { readsDates = true } else { readsDates = false }
        let none: String? = forTree ? "$null" : nil
        var hasMany = false
        switch self.options.nilDecodingStrategy {
        case .optionalNone: (sentinel, takesOptionals, isPlaceholder) = (none, true, nil)
        case .removed: (sentinel, takesOptionals, isPlaceholder) = (nil, true, nil)
        case .sentinel(let text):
            (sentinel, takesOptionals, isPlaceholder) = (text, forTree, nil)
            hasMany = Self.isSpelledManyWays(text)
        case .placeholder(_, let isNull): (sentinel, takesOptionals, isPlaceholder) = (nil, forTree, isNull)
        }
        hasManySentinels = hasMany
    }

    /// Whether other bytes are equal to the text: not to ASCII, but for the three characters that others are taken for
    /// (the signs of Kelvin, of the Greek question and of the varia).
    private static func isSpelledManyWays(_ text: String) -> Bool {
        text.utf8.contains { $0 >= 0x80 || "K;`".utf8.contains($0) }
    }

    /// How a type is decoded that is none of the known ones. What was found out is remembered: asking a type for a
    /// conformance that it lacks costs as much as decoding a number.
    func way<T>(of type: T.Type) -> DecodingWay {
        let identifier = ObjectIdentifier(type)
        for known in ways where known.type == identifier { return known.way }
        guard let way = (type as? any ReadableCollection.Type)?.way else {
            ownTypes.insert(type)
            return .own
        }
        if ways.count < 16 { ways.append((identifier, way)) }
        return way
    }

    /// The snake case form of a property's name.
    func snakeCase(_ name: String) -> String {
        if let known = converted[name] { return known }
        let result = SnakeCase.encoded(name)
        converted[name] = result
        return result
    }
}

/// How a type is decoded that is none of the known ones.
enum DecodingWay {
    /// By its own `init(from:)`.
    case own
    /// As a dictionary whose keys are to be read as text.
    case dictionary
    /// Element by element.
    case array(any ReadableArray.Type)
}
