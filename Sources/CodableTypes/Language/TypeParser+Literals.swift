internal import FoundationEssentials
internal import PropertyLists

/// Literals: numbers, `true`, `false`, `"text"`, `[1, 2]`, `["key": 1]`, `[:]`, an enum's case by its name, with
/// associated values behind it.
extension TypeParser {
    /// The value of the literal that comes next, for a default of the type `form`.
    mutating func literal(of form: CodableType.Form, depth: Int = 0) throws(TypeError) -> PropertyList {
        var builder = PropertyListBuilder()
        try writeLiteral(of: form, to: &builder, depth: depth)
        return try finish(&builder)
    }

    private mutating func writeLiteral(
        of form: CodableType.Form, to builder: inout PropertyListBuilder, depth: Int
    ) throws(TypeError) {
        try scanner.skipBlanks()
        guard depth < Self.maximumDepth else { throw scanner.error("at most \(Self.maximumDepth) levels of values") }
        if scanner.isAt("\"") {
            let text = try scanner.string()
            try builder.adding { builder throws(PropertyListError) in try builder.append(string: text) }
        } else if try scanner.isAtNumber() {
            try writeNumber(to: &builder)
        } else if try scanner.skip("[") {
            try writeContainer(of: form, to: &builder, depth: depth)
        } else {
            try writeWord(of: form, to: &builder, depth: depth)
        }
    }

    private mutating func writeNumber(to builder: inout PropertyListBuilder) throws(TypeError) {
        let start = try scanner.start()
        let text = try scanner.number()
        if let integer = Int64(text) {
            try builder.adding { builder throws(PropertyListError) in try builder.append(integer: integer) }
        } else if let unsigned = UInt64(text) {
            try builder.adding { builder throws(PropertyListError) in try builder.append(unsigned: unsigned) }
        } else if let real = Double(text), real.isFinite {
            try builder.adding { builder throws(PropertyListError) in try builder.append(real: real) }
        } else {
            throw scanner.error("a number that Double holds", at: start)
        }
    }

    private mutating func writeWord(
        of form: CodableType.Form, to builder: inout PropertyListBuilder, depth: Int
    ) throws(TypeError) {
        let start = try scanner.start()
        _ = try scanner.skip(".")
        let word = try scanner.name("a value")
        if try writeConstant(word, to: &builder) { return }
        if word == "true" || word == "false" {
            try builder.adding { builder throws(PropertyListError) in try builder.append(boolean: word == "true") }
        } else if case .enumeration(let enumeration)? = form.core,
            let found = enumeration.cases.first(where: { $0.name == word })
        {
            try builder.add(found.rawValue)
        } else if case .variant(let variant)? = form.core, let values = variant.values(ofCase: word) {
            try writeCase(word, values, to: &builder, depth: depth)
        } else if stage == .types {
            // The case of an enum that is not declared yet.
            if try scanner.skip("(") { try writeArguments(of: nil, to: &builder, depth: depth) }
            try builder.adding { builder throws(PropertyListError) in try builder.appendNull() }
        } else {
            throw scanner.error("a value of \(form)", at: start)
        }
    }

    /// `circle(radius: 1)`, in the layout of an enum with associated values.
    private mutating func writeCase(
        _ name: String, _ values: StructureType, to builder: inout PropertyListBuilder, depth: Int
    ) throws(TypeError) {
        try builder.adding { builder throws(PropertyListError) in
            try builder.beginDictionary()
            try builder.key(name)
            try builder.beginDictionary()
        }
        if try scanner.skip("(") { try writeArguments(of: values, to: &builder, depth: depth) }
        try builder.adding { builder throws(PropertyListError) in
            try builder.end()
            try builder.end()
        }
    }

    /// The values behind the opening bracket, up to the closing one; passed over where the case is not known.
    private mutating func writeArguments(
        of values: StructureType?, to builder: inout PropertyListBuilder, depth: Int
    ) throws(TypeError) {
        var count = 0
        while !(try scanner.skip(")")) {
            let name = try label() ?? VariantType.key(ofValue: count)
            let form = values?.field(named: name)?.type ?? .any
            if values == nil {
                _ = try literal(of: form, depth: depth + 1)
            } else {
                try builder.adding { builder throws(PropertyListError) in try builder.key(name) }
                try writeLiteral(of: form, to: &builder, depth: depth + 1)
            }
            count += 1
            try scanner.skipBlanks()
            if scanner.isAt(")") { continue }
            guard try scanner.skip(",") else { throw scanner.error("\",\" or \")\"") }
        }
    }

    /// Writes a literal that begins with a word of its own; false for any other word.
    private mutating func writeConstant(
        _ word: String, to builder: inout PropertyListBuilder
    ) throws(TypeError) -> Bool {
        switch word {
        case "inf": try builder.adding { builder throws(PropertyListError) in try builder.append(real: .infinity) }
        case "nan": try builder.adding { builder throws(PropertyListError) in try builder.append(real: .nan) }
        case "date" where scanner.isAt("("):
            let seconds = try date()
            try builder.adding { builder throws(PropertyListError) in try builder.append(date: seconds) }
        case "data" where scanner.isAt("("):
            let bytes = try data()
            try builder.adding { builder throws(PropertyListError) in try builder.append(data: bytes) }
        case "uid" where scanner.isAt("("):
            try scanner.expect("(")
            let start = try scanner.start()
            guard let number = UInt32(try scanner.number()) else { throw scanner.error("32 bits", at: start) }
            try scanner.expect(")")
            try builder.adding { builder throws(PropertyListError) in try builder.append(uid: number) }
        default: return false
        }
        return true
    }

    /// `date("2026-11-21T08:00:00Z")`, or in seconds since 2001.
    private mutating func date() throws(TypeError) -> Double {
        try scanner.expect("(")
        let start = try scanner.start()
        let isText = scanner.isAt("\"")
        let text = isText ? try scanner.string() : try scanner.number()
        let date = isText ? (try? Date(text, strategy: .iso8601))?.timeIntervalSinceReferenceDate : Double(text)
        guard let date, date.isFinite else { throw scanner.error("a date such as \"2026-11-21T08:00:00Z\"", at: start) }
        try scanner.expect(")")
        return date
    }

    /// `data("48656c6c6f")`: bytes in hexadecimal.
    private mutating func data() throws(TypeError) -> [UInt8] {
        try scanner.expect("(")
        let start = try scanner.start()
        let digits = try scanner.string().compactMap(\.hexDigitValue)
        guard digits.count.isMultiple(of: 2) else { throw scanner.error("pairs of hexadecimal digits", at: start) }
        try scanner.expect(")")
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    private mutating func writeContainer(
        of form: CodableType.Form, to builder: inout PropertyListBuilder, depth: Int
    ) throws(TypeError) {
        if try scanner.skip(":") {
            try scanner.expect("]")
            return try builder.adding { builder throws(PropertyListError) in
                try builder.beginDictionary()
                try builder.end()
            }
        }
        guard try isDictionary() else { return try writeArray(of: form, to: &builder, depth: depth) }
        try builder.adding { builder throws(PropertyListError) in try builder.beginDictionary() }
        repeat {
            if try isAtClosingBracket() { break }
            let key = try scanner.string()
            try scanner.expect(":")
            try builder.adding { builder throws(PropertyListError) in try builder.key(key) }
            try writeLiteral(of: form.part(key), to: &builder, depth: depth + 1)
        } while try scanner.skip(",")
        try scanner.expect("]")
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }

    private mutating func writeArray(
        of form: CodableType.Form, to builder: inout PropertyListBuilder, depth: Int
    ) throws(TypeError) {
        try builder.adding { builder throws(PropertyListError) in try builder.beginArray() }
        repeat {
            if try isAtClosingBracket() { break }
            try writeLiteral(of: form.part(nil), to: &builder, depth: depth + 1)
        } while try scanner.skip(",")
        try scanner.expect("]")
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }

    private mutating func isAtClosingBracket() throws(TypeError) -> Bool {
        try scanner.skipBlanks()
        return scanner.isAt("]")
    }

    /// Whether a key and a colon come next.
    private func isDictionary() throws(TypeError) -> Bool {
        var ahead = scanner
        try ahead.skipBlanks()
        guard ahead.isAt("\"") else { return false }
        _ = try ahead.string()
        return try ahead.skip(":")
    }
}

extension CodableType.Form {
    /// The type without optionals and defaults around it; nil for a name that no type has.
    fileprivate var core: CodableType.Form? {
        switch self {
        case .optional(let wrapped), .defaulted(let wrapped, _): wrapped.core
        case .reference(let reference): (try? reference.resolved())?.core
        default: self
        }
    }

    /// The type of an element, or of the value of a key.
    fileprivate func part(_ key: String?) -> CodableType.Form {
        switch self {
        case .array(let element, _): element
        case .dictionary(let value): value
        case .optional(let wrapped), .defaulted(let wrapped, _): wrapped.part(key)
        case .variant(let variant): key.flatMap { variant.values(ofCase: $0) }.map { .structure($0) } ?? .any
        case .structure(let structure): key.flatMap { structure.field(named: $0)?.type } ?? .any
        case .reference(let reference): (try? reference.resolved())?.part(key) ?? .any
        default: .any
        }
    }
}
