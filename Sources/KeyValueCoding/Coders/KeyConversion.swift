internal import PropertyLists

extension EncodingContext {
    /// The key's name under the key strategy. `path` leads to the container.
    func convertedName(of key: any CodingKey, path: @autoclosure () -> [any CodingKey]) -> String {
        switch options.keyEncodingStrategy {
        case .useDefaultKeys: key.stringValue
        case .custom(let convert): convert(path().dropFirst(location?.steps.count ?? 0) + [key]).stringValue
        case .convertToSnakeCase: snakeCase(key.stringValue)
        }
    }
}

extension CodingContext {
    /// The snake case form of a property name.
    fileprivate final func snakeCase(_ name: String) -> String {
        thread.isCurrent ? snakeCaseNames.form(of: name) : SnakeCase.encoded(name)
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
            let candidates = SnakeCase.candidates(for: name)
            for candidate in candidates where node.context.snakeCase(candidate) == name {
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
            for name in filledNames.sorted() {
                let property = PropertyListPath.Step.key(convert(path + [NameKey(name)]).stringValue)
                if mapped[property] == nil || property == .key(name) { mapped[property] = name }
            }
            return .mapped(mapped)
        }
    }
}

/// The snake case forms of the names that one call has met so far.
struct SnakeCaseNames {
    private var known: [PropertyListPath.Step: String] = [:]

    fileprivate mutating func form(of name: String) -> String {
        if let form = known[.key(name)] { return form }
        let form = SnakeCase.encoded(name)
        known[.key(name)] = form
        return form
    }
}

/// Conversion of property names between camel case and snake case.
///
/// The word splitter agrees with Foundation's coders: `myURLProperty` gives `my_url_property`, `URLPath` gives
/// `u_rl_path`. Leading and trailing underscores stay.
private enum SnakeCase {
    /// The snake case form of a property name.
    static func encoded(_ name: String) -> String {
        let scalars = Array(name.unicodeScalars)
        guard scalars.count > 1 else { return name.lowercased() }
        return words(of: scalars)
            .map { range in
                var word = String.UnicodeScalarView()
                word.append(contentsOf: scalars[range])
                return String(word).lowercased()
            }
            .joined(separator: "_")
    }

    private static func words(of scalars: [Unicode.Scalar]) -> [Range<Int>] {
        var words: [Range<Int>] = []
        var start = 0
        var search = 1
        while let upper = scalars[search...].firstIndex(where: isUppercase) {
            words.append(start..<upper)
            guard let lower = scalars[upper...].firstIndex(where: isLowercase) else {
                start = upper
                break
            }
            // Of several capitals in a row, the last begins the next word.
            start = lower == upper + 1 ? upper : lower - 1
            if start > upper { words.append(upper..<start) }
            search = lower + 1
        }
        words.append(start..<scalars.count)
        return words
    }

    /// The property names that `name` may come from, the likeliest first: `foo_url` may be `fooUrl` or `fooURL`.
    fileprivate static func candidates(for name: String) -> [String] {
        let core = name.drop { $0 == "_" }
        let prefix = name.dropLast(core.count)
        let suffix = core.reversed().prefix { $0 == "_" }.count
        let words = core.dropLast(suffix).split(separator: "_").map(String.init)
        guard let first = words.first else { return [name] }
        // Every word beyond the first may have been an acronym; eight of them are 256 forms, and more are not tried.
        let rest = Array(words.dropFirst())
        let forms = rest.count <= 8 ? 1 << rest.count : 1
        return (0..<forms).map { form in
            let tail = rest.enumerated().map { offset, word in
                form >> offset & 1 == 1 ? word.uppercased() : capitalized(word)
            }
            return prefix + first + tail.joined() + String(repeating: "_", count: suffix)
        }
    }

    private static func capitalized(_ word: String) -> String {
        word.prefix(1).uppercased() + word.dropFirst()
    }

    private static func isUppercase(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .titlecaseLetter: true
        default: false
        }
    }

    private static func isLowercase(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .lowercaseLetter
    }
}
