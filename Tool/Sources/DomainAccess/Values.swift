import FoundationEssentials
public import KVCodable

/// Values as people give them, and as they are shown.
public enum Values {
    /// The value that a word means: by its type where there is one, else JSON, or the word itself as a string.
    ///
    /// - Parameter isSecret: whether no error may have the word in it.
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

    /// The value as the file is to have it, which its type must accept.
    public static func stored(_ value: PropertyList, as type: CodableType, at path: PropertyListPath) throws
        -> PropertyList
    {
        let core = type.wrapped
        guard core.members.isEmpty, core.cases.isEmpty, core.element == nil else {
            _ = try type.read(value, at: path)
            return value
        }
        // A scalar is kept as its type has it: 5 is the real 5.0 of a Double.
        return try type.encode(try type.read(value, at: path), at: path).list
    }

    /// How words of a type are written that no person would guess.
    private static let forms = ["Date": "a date such as 2026-11-21T08:00:00Z", "Data": "bytes in base64"]

    /// The value of a word whose type says how it is written; nil where JSON is to say it.
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

    /// The value for a person or a script: a string as it is, anything else as JSON.
    public static func text(_ list: PropertyList) throws -> String {
        if let text = list.string { return text }
        return try JSONText.of(list)
    }

    /// The value on one line of a list: a string in quotes.
    public static func line(_ list: PropertyList) -> String { (try? JSONText.line(list)) ?? "\(list)" }

    public static let secret = "(secret)"

    /// The value without its secrets, which no tool shows.
    ///
    /// - Parameter path: where the value is.
    public static func masked(
        _ list: PropertyList, _ type: CodableType?, at path: PropertyListPath = [], by mask: PropertyList? = "(secret)"
    ) -> PropertyList {
        guard let type else { return list }
        var isMasked = false
        return masked(list, type.member(at: path), by: mask, &isMasked) ?? [:]
    }

    /// The value without its secrets; nil for one that is left out. A container is made anew only for secrets in it.
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

    /// Whether a value is a secret as a whole: also one that has not the shape of a type with secrets in it.
    private static func isHidden(_ list: PropertyList, _ member: CodableType.Member) -> Bool {
        member.words.isSecret || !fits(list, member.type) && holdsSecrets(member.type)
    }

    /// The paths of the secrets in a value that is at a path.
    public static func secrets(
        in list: PropertyList, _ type: CodableType, at path: PropertyListPath
    ) -> [PropertyListPath] {
        secrets(in: list, type.member(at: path))
    }

    /// Whether a path leads to a secret or into one, as far as the type knows the path.
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
            // From the end: a removed element must not move the others.
            for (index, value) in list.elements.enumerated().reversed() { add(.index(index), value) }
        }
        return paths
    }

    /// Whether a value has the shape of its type, so that the secrets in it are found by their paths.
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

    /// A word as a shell reads it.
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

    /// The command that gives a domain's setting a value, or takes it away.
    public static func command(_ domain: Domain, _ path: PropertyListPath, _ value: PropertyList?) -> String {
        // Names, keys and values may begin with a minus.
        let setting = "-- \(quoted(domain.text)) \(quoted(path.text))"
        guard let value else { return "kvdefaults unset \(setting)" }
        // By --type Any the word is JSON, whatever the published type would make of it.
        return "kvdefaults set --type Any \(setting) \(quoted(line(value)))"
    }
}

extension PropertyList {
    /// A dictionary. Its keys are apart by their bytes: Swift takes some for one that print alike.
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
