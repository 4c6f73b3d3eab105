internal import PropertyLists

/// How the keys that a type asks for become names in a dictionary.
enum DecodingNames {
    case asTheyAre
    case snakeCase
    /// Names in the dictionary, by the name of the property that the caller's closure gave for each.
    case mapped([String: String])

    func name(of key: any CodingKey, in node: DecodingNode) -> String {
        switch self {
        case .asTheyAre: key.stringValue
        case .snakeCase: node.context.snakeCase(key.stringValue)
        case .mapped(let names): names[key.stringValue] ?? key.stringValue
        }
    }

    /// The key for a name in the dictionary; nil where the type has none.
    func key<Key: CodingKey>(for name: String, in node: DecodingNode) -> Key? {
        switch self {
        case .asTheyAre: return Key(stringValue: name)
        case .mapped(let names):
            for (property, stored) in names where stored == name {
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

/// Names of a container's keys, in one reference: a container is copied several times on its way.
final class ConvertedNames {
    let names: DecodingNames
    init(_ names: DecodingNames) { self.names = names }
}

extension DecodingNode {
    /// The names of the entries under the key strategy.
    final func convertedNames() -> DecodingNames {
        switch context.options.keyDecodingStrategy {
        case .useDefaultKeys: return .asTheyAre
        case .convertFromSnakeCase: return .snakeCase
        case .custom(let convert):
            let path = codingPath.dropFirst(context.place?.steps.count ?? 0)
            var mapped: [String: String] = [:]
            // Of names that become the same, the one that is the property's own wins, then the first in order.
            for name in names.sorted() {
                let property = convert(path + [NameKey(name)]).stringValue
                if mapped[property] == nil || property == name { mapped[property] = name }
            }
            return .mapped(mapped)
        }
    }
}
