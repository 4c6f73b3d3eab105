internal import FoundationEssentials
internal import PropertyLists

/// The state that all decoders and containers of one call of `decode` share. Used by one thread.
final class DecodingContext {
    let options: KeyValueDecoder
    /// The value's path in its holder, such as a store: error and coding paths begin with it. Nil for a value on its
    /// own.
    let location: PropertyListPath?
    let converts: Bool
    let passesFloats: Bool
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
    private var converted: [PropertyListPath.Step: String] = [:]

    /// - Parameter forTree: whether the values come from a property-list tree, where a null is always nil, and
    ///   `"$null"` takes the place of an Optional without a value.
    init(
        _ options: consuming KeyValueDecoder, forTree: Bool = false, location: PropertyListPath? = nil,
        record: KeyRecord? = nil
    ) {
        self.options = options
        self.location = location
        readsSpelledValues = forTree
        if case .useDefaultKeys = self.options.keyDecodingStrategy { converts = false } else { converts = true }
        if case .ignore = self.options.leftOverKeyDecodingStrategy {
            self.record = record
        } else {
            self.record = record ?? KeyRecord(isExact: true)
        }
        if case .pass = self.options.nonConformingFloatDecodingStrategy {
            passesFloats = true
        } else {
            passesFloats = false
        }
        let none: String? = forTree ? "$null" : nil
        switch self.options.nilDecodingStrategy {
        case .optionalNone: (sentinel, takesOptionals, isPlaceholder) = (none, true, nil)
        case .removed: (sentinel, takesOptionals, isPlaceholder) = (nil, true, nil)
        case .sentinel(let text): (sentinel, takesOptionals, isPlaceholder) = (text, forTree, nil)
        case .placeholder(_, let isNull): (sentinel, takesOptionals, isPlaceholder) = (nil, forTree, isNull)
        }
    }

    /// The snake case form of a property's name.
    func snakeCase(_ name: String) -> String {
        if let known = converted[.key(name)] { return known }
        let result = SnakeCase.encoded(name)
        converted[.key(name)] = result
        return result
    }
}

/// The mapping from the keys that a type asks for to names in a dictionary.
enum DecodingNames {
    case asTheyAre
    case snakeCase
    /// Names in the dictionary, by the name of the property that the caller's closure gave for each.
    case mapped([PropertyListPath.Step: String])

    func name(of key: any CodingKey, in node: DecodingNode) -> String {
        switch self {
        case .asTheyAre: key.stringValue
        case .snakeCase: node.context.snakeCase(key.stringValue)
        case .mapped(let names): names[.key(key.stringValue)] ?? key.stringValue
        }
    }

    /// The key for a name in the dictionary; nil where the type has none.
    func key<Key: CodingKey>(for name: String, in node: DecodingNode) -> Key? {
        switch self {
        case .asTheyAre: return Key(stringValue: name)
        case .mapped(let names):
            for case (.key(let property), let stored) in names where stored.utf8.elementsEqual(name.utf8) {
                return Key(stringValue: property)
            }
            return Key(stringValue: name)
        case .snakeCase:
            for candidate in SnakeCase.candidates(for: name) where node.context.snakeCase(candidate) == name {
                if let key = Key(stringValue: candidate) { return key }
            }
            return Key(stringValue: name)
        }
    }
}

extension DecodingNode {
    /// The names of the entries under the key strategy.
    final func convertedNames() -> DecodingNames {
        switch context.options.keyDecodingStrategy {
        case .useDefaultKeys: return .asTheyAre
        case .convertFromSnakeCase: return .snakeCase
        case .custom(let convert):
            let path = codingPath.dropFirst(context.location?.steps.count ?? 0)
            var mapped: [PropertyListPath.Step: String] = [:]
            // Where several names become one property's, the name equal to the property's wins, else the first in
            // order.
            for name in names.sorted() {
                let property = PropertyListPath.Step.key(convert(path + [NameKey(name)]).stringValue)
                if mapped[property] == nil || property == .key(name) { mapped[property] = name }
            }
            return .mapped(mapped)
        }
    }
}
