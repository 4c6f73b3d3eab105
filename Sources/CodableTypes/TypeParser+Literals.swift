internal import PropertyLists

/// Literals: numbers, `true`, `false`, `"text"`, `[1, 2]`, `["key": 1]`, `[:]`, and an enum's case by its name.
extension TypeParser {
    /// The value of the literal that comes next, for a place of the type `form`.
    mutating func literal(of form: CodableType.Form) throws(TypeError) -> PropertyList {
        var builder = PropertyListBuilder()
        try writeLiteral(of: form, to: &builder, depth: 0)
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
            try writeWord(of: form, to: &builder)
        }
    }

    private mutating func writeNumber(to builder: inout PropertyListBuilder) throws(TypeError) {
        let start = scanner.position
        let text = try scanner.number()
        if let integer = Int64(text) {
            try builder.adding { builder throws(PropertyListError) in try builder.append(integer: integer) }
        } else if let unsigned = UInt64(text) {
            try builder.adding { builder throws(PropertyListError) in try builder.append(unsigned: unsigned) }
        } else if let real = Double(text), real.isFinite {
            try builder.adding { builder throws(PropertyListError) in try builder.append(real: real) }
        } else {
            throw scanner.error("a number", at: start)
        }
    }

    private mutating func writeWord(
        of form: CodableType.Form, to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        let start = scanner.position
        let word = try scanner.name("a value")
        if word == "true" || word == "false" {
            try builder.adding { builder throws(PropertyListError) in try builder.append(boolean: word == "true") }
        } else if let enumeration = enumeration(of: form),
            let found = enumeration.cases.first(where: { $0.name == word })
        {
            try builder.add(.same, of: found.rawValue)
        } else if sketch == nil, allowsUnknownNames {
            // In the first reading nobody knows yet what the word means.
            try builder.adding { builder throws(PropertyListError) in try builder.append(string: word) }
        } else {
            throw scanner.error("a value of \(form)", at: start)
        }
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
            try writeLiteral(of: part(key, of: form), to: &builder, depth: depth + 1)
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
            try writeLiteral(of: part(nil, of: form), to: &builder, depth: depth + 1)
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

// MARK: - What literals mean

extension TypeParser {
    /// What a name means, as far as the text was read.
    private func resolved(_ reference: TypeReference) -> CodableType.Form? {
        sketch?.form(named: reference.name) ?? (try? reference.resolved())
    }

    /// The enum that the type is at heart.
    private func enumeration(of form: CodableType.Form) -> EnumerationType? {
        switch form {
        case .enumeration(let enumeration): enumeration
        case .optional(let wrapped), .defaulted(let wrapped, _): enumeration(of: wrapped)
        case .reference(let reference): resolved(reference).flatMap { enumeration(of: $0) }
        default: nil
        }
    }

    /// The type of an element, or of the value of a key.
    private func part(_ key: String?, of form: CodableType.Form) -> CodableType.Form {
        switch form {
        case .array(let element, _): element
        case .dictionary(let value): value
        case .optional(let wrapped), .defaulted(let wrapped, _): part(key, of: wrapped)
        case .structure(let structure): key.flatMap { structure.field(named: $0)?.type } ?? .any
        case .reference(let reference): resolved(reference).map { part(key, of: $0) } ?? .any
        default: .any
        }
    }
}
