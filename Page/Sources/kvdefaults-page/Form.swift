import DomainAccess
import KVCodable

/// A type as the page needs it to make a form: JSON, in which declared types are named once, since they may contain
/// themselves. Defaults of secrets are left out.
struct Form {
    private var types: [String: PropertyList] = [:]
    private var initials = InitialValues()

    /// The form of a store's settings.
    static func of(_ type: CodableType) -> [String: PropertyList] {
        var form = Form()
        let root = form.reference(to: type)
        return ["root": root, "types": PropertyList(form.types)]
    }

    /// Recursion is bounded by the nesting of type expressions, and by the number of declared types.
    private mutating func reference(to type: CodableType) -> PropertyList {
        let core = type.wrapped
        let name = core.description
        guard core.members.isEmpty, core.cases.isEmpty else {
            if types[name] == nil {
                types[name] = true
                types[name] = declaration(of: core)
            }
            return ["type": PropertyList(name)]
        }
        var entry = Self.scalar(core)
        if let element = core.element {
            entry["control"] = name.hasPrefix("[String:") ? "table" : "list"
            entry["element"] = reference(to: element)
            // One that cannot begin with anything is written as a whole.
            if initials.value(of: element) == nil { entry["control"] = "json" }
        }
        entry["initial"] = try? initials.value(of: core)?.jsonForm()
        return PropertyList(entry)
    }

    private mutating func declaration(of type: CodableType) -> PropertyList {
        var entry: [String: PropertyList] = [:]
        entry["doc"] = type.words.documentation.map { PropertyList($0) }
        entry["initial"] = try? initials.value(of: type)?.jsonForm()
        let cases = type.cases
        let isChoice = !cases.isEmpty && !cases.contains { $0.rawValue == nil }
        if type.words.isSecret { entry["secret"] = true }
        if type.words.isSecret, !isChoice {
            // It is given as a whole: its fields are not shown, nor their defaults.
            entry["control"] = "json"
            entry["members"] = []
        } else if cases.isEmpty {
            entry["control"] = "struct"
            entry["members"] = members(type.members)
        } else {
            entry["control"] = isChoice ? "choice" : "variant"
            entry["cases"] = PropertyList(cases.map { choice($0) })
        }
        return PropertyList(entry)
    }

    private mutating func choice(_ one: CodableType.Case) -> PropertyList {
        let deprecation = one.words.deprecation.map { _ in "deprecated" }
        let notes = [one.words.title, deprecation].compactMap { $0 }
        let title = Self.title(one.name)
        var entry = ["name": PropertyList(one.name)]
        entry["title"] = PropertyList(notes.isEmpty ? title : "\(title) – \(notes.joined(separator: ", "))")
        entry["value"] = one.rawValue
        if one.rawValue == nil {
            entry["members"] = members(one.members, areSecret: one.words.isSecret)
            entry["initial"] = try? initials.value(of: one.members)?.jsonForm()
        }
        return PropertyList(entry)
    }

    private mutating func members(_ members: [CodableType.Member], areSecret: Bool = false) -> PropertyList {
        PropertyList(
            members.map { member in
                var entry = ["key": PropertyList(member.key), "title": PropertyList(Self.title(member.name))]
                entry["doc"] = member.words.documentation.map { PropertyList($0) }
                entry["deprecated"] = member.words.deprecation.map { PropertyList($0) }
                let isSecret = areSecret || member.words.isSecret
                let isHidden = isSecret && Self.hasParts(member.type)
                entry["type"] = isHidden ? ["control": "json"] : reference(to: member.type)
                entry["default"] = isSecret ? nil : Self.standard(member)
                if isSecret { entry["secret"] = true }
                if member.mayBeAbsent, member.defaultValue == nil { entry["optional"] = true }
                return PropertyList(entry)
            })
    }

    /// Whether there are settings in a value of the type, which have defaults of their own.
    private static func hasParts(_ type: CodableType) -> Bool {
        type.element != nil || !type.wrapped.members.isEmpty || type.wrapped.cases.contains { $0.rawValue == nil }
    }

    /// windowTitle and window_title are "Window title" for people.
    private static func title(_ name: String) -> String {
        var words = [""]
        var last: Character?
        for character in name {
            let isBreak = ["_", "-", " "].contains(character)
            if isBreak || character.isUppercase && last?.isLowercase == true { words.append("") }
            if !isBreak { words[words.count - 1].append(character) }
            last = character
        }
        // ID and URL stay as they are.
        words = words.filter { !$0.isEmpty }.map { $0.count > 1 && $0.allSatisfy(\.isUppercase) ? $0 : $0.lowercased() }
        let title = words.joined(separator: " ")
        return title.isEmpty ? name : title.prefix(1).uppercased() + title.dropFirst()
    }

    private static func standard(_ member: CodableType.Member) -> PropertyList? {
        member.storedDefault.flatMap { try? Values.masked($0, member.type, by: nil).jsonForm() }
    }

    // MARK: - Scalars

    /// The control of a scalar, with its limits.
    private static func scalar(_ type: CodableType) -> [String: PropertyList] {
        let limits = TypeLimits(of: type)
        var entry: [String: PropertyList] = [:]
        entry["range"] = limits.text.map { PropertyList($0) }
        switch limits.name {
        case "Bool": entry["control"] = "switch"
        case "Date": entry["control"] = "date"
        case "Data": entry["control"] = "data"
        case "String", "URL", "UUID", "Decimal":
            entry["control"] = "text"
            entry["inputMode"] = ["URL": "url", "Decimal": "decimal"][limits.name] ?? "text"
            if limits.most ?? 0 > 200 { entry["isLong"] = true }
        case "Double", "Float":
            entry.merge(number(limits, isReal: true)) { $1 }
            if limits.name == "Float" { entry["isSingle"] = true }
        case let name where name.hasPrefix("Int") || name.hasPrefix("UInt"):
            entry.merge(number(limits, isReal: false)) { $1 }
        default: entry["control"] = "json"
        }
        return entry
    }

    private static func number(_ limits: TypeLimits, isReal: Bool) -> [String: PropertyList] {
        var entry: [String: PropertyList] = ["control": "number"]
        if isReal { entry["isReal"] = true }
        func bound(_ number: Double) -> PropertyList {
            Int64(exactly: number).map { PropertyList($0) } ?? PropertyList(number)
        }
        entry["min"] = limits.low.map(bound)
        entry["max"] = limits.high.map(bound)
        if limits.isBelow { entry["isBelow"] = true }
        // A slider serves where each step of it can be hit.
        if let low = limits.low, let high = limits.high, high - low <= 100 {
            entry["step"] = isReal ? bound((high - low) / 100) : 1
        }
        return entry
    }
}

extension CodableType.Member {
    /// The default as the file would have it.
    var storedDefault: PropertyList? { defaultValue.flatMap { try? type.encode($0).list } }
}

/// The limits of a scalar or a list, from the text of its type and from its JSON Schema.
struct TypeLimits {
    /// The type's name without its limits.
    let name: String
    /// The bounds of a number that JavaScript holds exactly.
    let low, high: Double?
    /// Whether a real number is below `high`, and not it.
    let isBelow: Bool
    /// The shortest and the longest text or list.
    let least, most: Int?
    /// The limits for people: 0 to 10.
    let text: String?

    init(of type: CodableType) {
        let description = type.description
        name = String(description.prefix { $0 != "(" })
        let schema = try? type.jsonSchema()
        let number = schema?["anyOf"]?.elements.first { $0["type"]?.string == "number" } ?? schema
        func bound(_ key: String) -> Double? {
            number?[key]?.number.flatMap { abs($0) <= 9_007_199_254_740_991 ? $0 : nil }
        }
        low = bound("minimum")
        high = bound("maximum") ?? bound("exclusiveMaximum")
        isBelow = number?["exclusiveMaximum"] != nil
        least = (schema?["minLength"] ?? schema?["minItems"])?.integer.map { Int($0) }
        most = (schema?["maxLength"] ?? schema?["maxItems"])?.integer.map { Int($0) }
        text = Self.text(description, isLength: least != nil || most != nil)
    }

    private static func text(_ description: String, isLength: Bool) -> String? {
        guard description.hasSuffix(")"), let start = description.lastIndex(of: "(") else { return nil }
        let range = description[description.index(after: start)...].dropLast()
        let isOpen = range.contains("..<")
        let dots = isOpen ? "..<" : "..."
        guard let found = range.firstRange(of: dots) else { return nil }
        let (low, high) = (range[..<found.lowerBound], range[found.upperBound...])
        let units = ["S": "characters", "D": "bytes"][description.prefix(1)] ?? "entries"
        let unit = isLength ? " \(units)" : ""
        if low.isEmpty { return (isOpen ? "below " : "at most ") + high + unit }
        if high.isEmpty { return low == "1" && isLength ? "not empty" : "at least " + low + unit }
        return low + (isOpen ? " to below " : " to ") + high + unit
    }
}
