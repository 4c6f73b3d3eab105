import FoundationEssentials
public import KVCodable

/// Values as people type and read them.
public enum Values {
    /// The value of a word: by its type if it has one, otherwise as JSON, otherwise the word itself as a string.
    ///
    /// - Parameter isSecret: whether errors must not quote the word.
    public static func read(
        _ word: String, as type: CodableType?, at path: PropertyListPath, isSecret: Bool = false
    ) throws -> PropertyList {
        guard let type else { return try json(word) ?? PropertyList(word) }
        let core = type.wrapped
        let value = try known(word, core) ?? json(word) ?? PropertyList(word)
        if value.string != nil, let form = forms[core.description] {
            throw Failure("Expected \(form) at \(path.text)\(isSecret ? "" : ", found \(line(value))")")
        }
        return try stored(value, as: type, at: path)
    }

    /// The stored form of a value. Throws if the type does not accept the value.
    public static func stored(_ value: PropertyList, as type: CodableType, at path: PropertyListPath) throws
        -> PropertyList
    {
        let core = type.wrapped
        guard core.members.isEmpty, core.cases.isEmpty, core.element == nil else {
            _ = try type.read(value, at: path)
            return value
        }
        // The type converts a scalar: 5 becomes the real 5.0 for a Double.
        return try type.encode(try type.read(value, at: path), at: path).list
    }

    /// The spelling of words for types where people cannot guess it.
    private static let forms = ["Date": "a date such as 2026-11-21T08:00:00Z", "Data": "bytes in base64"]

    /// The value of a word by the spelling of its type; nil if the word is to be read as JSON.
    private static func known(_ word: String, _ type: CodableType) -> PropertyList? {
        if let one = type.cases.first(where: { $0.name == word || $0.rawValue?.string == word }) {
            return one.rawValue ?? PropertyList([one.name: [:]])
        }
        switch type.description.prefix(while: { $0 != "(" && $0 != "?" }) {
        case "String", "URL", "UUID", "Decimal": return PropertyList(word)
        case "Bool": return ["true": true, "yes": true, "on": true, "false": false, "no": false, "off": false][word]
        case "Date": return (try? Date(word, strategy: .iso8601)).map { PropertyList($0) }
        case "Data": return Data(base64Encoded: word).map { PropertyList($0) }
        case "Double", "Float": return Double(word).map { PropertyList($0) }
        default: return nil
        }
    }

    private static func json(_ word: String) throws -> PropertyList? {
        guard let list = try? PropertyList(parsing: Array(word.utf8), as: .json) else { return nil }
        let value = try list.valueOfJSONForm()
        if value.isNull { throw Failure("Expected a value, found null; kvdefaults unset removes one") }
        return value
    }

    /// The value for a person or a script: a string as it is, any other value as JSON.
    public static func text(_ list: PropertyList) throws -> String {
        if let text = list.string { return text }
        return try JSONText.of(list)
    }

    /// The value on one line of a list: a string in quotes.
    public static func line(_ list: PropertyList) -> String { (try? JSONText.line(list)) ?? "\(list)" }

    /// The text in place of a secret.
    public static let secret = "(secret)"

    /// The value without its secrets.
    ///
    /// - Parameters:
    ///   - path: the path of the value.
    ///   - mask: the value in place of a secret; nil to leave secrets out.
    public static func masked(
        _ list: PropertyList, _ type: CodableType?, at path: PropertyListPath = [], by mask: PropertyList? = "(secret)"
    ) -> PropertyList {
        guard let type else { return list }
        var isMasked = false
        return masked(list, type.member(at: path), by: mask, &isMasked) ?? [:]
    }

    /// The value without its secrets; nil if the whole value is left out. Containers without secrets are not copied.
    private static func masked(
        _ list: PropertyList, _ member: CodableType.Member?, by mask: PropertyList?, _ isMasked: inout Bool
    ) -> PropertyList? {
        guard let member else { return list }
        if isHidden(list, member) {
            isMasked = true
            return mask
        }
        var isMaskedInside = false
        var result = list
        if list.kind == .dictionary {
            let entries = list.entries.compactMap { key, value in
                masked(value, member.type.member(at: [.key(key)]), by: mask, &isMaskedInside).map { (key, $0) }
            }
            if isMaskedInside { result = (try? PropertyList(entries: entries)) ?? [:] }
        } else if list.kind == .array {
            let element = member.type.member(at: [.index(0)])
            let elements = list.elements.compactMap { masked($0, element, by: mask, &isMaskedInside) }
            if isMaskedInside { result = PropertyList(elements) }
        }
        isMasked = isMasked || isMaskedInside
        return result
    }

    /// Whether the whole value is a secret. A value with the wrong shape for a type that holds secrets is one, too.
    private static func isHidden(_ list: PropertyList, _ member: CodableType.Member) -> Bool {
        member.words.isSecret || !fits(list, member.type) && holdsSecrets(member.type)
    }

    /// The paths of the secrets in a value, relative to the value.
    ///
    /// - Parameter path: the path of the value.
    public static func secrets(
        in list: PropertyList, _ type: CodableType, at path: PropertyListPath
    ) -> [PropertyListPath] {
        secrets(in: list, type.member(at: path))
    }

    /// Whether a path leads to a secret or into one. Steps that the type does not know are not secret.
    public static func isSecret(_ path: PropertyListPath, of type: CodableType) -> Bool {
        var member = type.member(at: [])
        for step in path.steps where member?.words.isSecret == false { member = member?.type.member(at: [step]) }
        return member?.words.isSecret ?? false
    }

    /// The paths of the secrets in a value. Recursion is bounded by the depth of values.
    private static func secrets(in list: PropertyList, _ member: CodableType.Member?) -> [PropertyListPath] {
        guard let member else { return [] }
        if isHidden(list, member) { return [[]] }
        var paths: [PropertyListPath] = []
        func add(_ step: PropertyListPath.Step, _ value: PropertyList) {
            let inner = member.type.member(at: [step])
            paths += secrets(in: value, inner).map { PropertyListPath([step] + $0.steps) }
        }
        if list.kind == .dictionary {
            for (key, value) in list.entries { add(.key(key), value) }
        } else if list.kind == .array {
            // Last elements first, so that removing one does not move the others.
            for (index, value) in list.elements.enumerated().reversed() { add(.index(index), value) }
        }
        return paths
    }

    /// Whether a value has the shape of its type, so that paths lead to the secrets in it.
    private static func fits(_ list: PropertyList, _ type: CodableType) -> Bool {
        guard type.members.isEmpty else { return list.kind == .dictionary }
        guard type.cases.isEmpty else {
            return list.kind == .dictionary && list.keys.allSatisfy { type.member(at: [.key($0)]) != nil }
        }
        guard type.element != nil else { return true }
        return list.kind == (type.member(at: [.index(0)]) == nil ? .dictionary : .array)
    }

    /// Whether a value of the type may have a secret in it.
    public static func holdsSecrets(_ type: CodableType) -> Bool {
        var seen: Set<String> = []
        var open = [type.wrapped]
        while let one = open.popLast() {
            guard seen.insert(one.description).inserted else { continue }
            let inner = one.members + one.cases.flatMap(\.members)
            let words = [one.words] + one.cases.map(\.words) + inner.map(\.words)
            if words.contains(where: \.isSecret) { return true }
            open += inner.map(\.type.wrapped) + (one.element.map { [$0.wrapped] } ?? [])
        }
        return false
    }

    /// A word, quoted for a shell if it needs quotes.
    public static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "/"),
                    UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "+"), UInt8(ascii: "@"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
        return isPlain
            ? word : "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    /// The command that sets a setting of a domain, or unsets it if `value` is nil.
    public static func command(_ domain: Domain, _ path: PropertyListPath, _ value: PropertyList?) -> String {
        // Names, keys and values may begin with a minus.
        let setting = "-- \(quoted(domain.text)) \(quoted(path.text))"
        guard let value else { return "kvdefaults unset \(setting)" }
        // With --type Any the word is read as JSON, whatever the published type says.
        return "kvdefaults set --type Any \(setting) \(quoted(line(value)))"
    }
}

extension PropertyList {
    /// A dictionary from entries. Compares keys by their bytes: Swift takes some different keys for equal.
    public init(entries: [(String, PropertyList)]) throws {
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        for (key, value) in entries {
            try builder.key(key)
            try builder.append(value)
        }
        try builder.end()
        self = try builder.finish()
    }
}
