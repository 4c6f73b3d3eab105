internal import PropertyLists

/// Declarations:
///
/// ```
/// struct Name { field: type attribute* ("=" literal)?; … }
/// enum Name: String { one, two = "zwei" }        enum Name: Int { low = 0, high = 10 }
/// attribute := "@key(" name or string ")" | "@transient"
/// ```
///
/// A field ends with `;`, a line's end, or the closing brace. Comments are `// …` and `/* … */`.
extension TypeParser {
    /// Declares everything in the text; gives it in the text's order.
    mutating func declarations() throws(TypeError) -> [CodableType.Form] {
        allowsUnknownNames = true
        // Enums first: a literal may name a case of one that stands further down.
        var first = self
        first.skipsUnknownWords = true
        while try first.isAtDeclaration() { _ = try first.declaration(isDraft: true) }
        var forms: [CodableType.Form] = []
        while try isAtDeclaration() { forms.append(try declaration(isDraft: false)) }
        guard scanner.isAtEnd else { throw scanner.error("struct or enum") }
        return forms
    }

    private mutating func isAtDeclaration() throws(TypeError) -> Bool {
        while try scanner.skip(";") {}
        return try scanner.isAtName()
    }

    private mutating func declaration(isDraft: Bool) throws(TypeError) -> CodableType.Form {
        let start = try scanner.start()
        switch try scanner.name("struct or enum") {
        case "struct":
            let (name, form) = try structure(isDraft: isDraft)
            if !isDraft { try declare(name, form, at: start) }
            return form
        case "enum":
            let (name, form) = try enumeration()
            try declare(name, form, at: start)
            return form
        default:
            throw scanner.error("struct or enum", at: start)
        }
    }

    private func declare(_ name: String, _ form: CodableType.Form, at place: Int) throws(TypeError) {
        guard ScalarType.Kind(rawValue: name) == nil, name != "Any" else {
            throw TypeError(.redeclared, "\(name) is a built-in type", location: scanner.location(of: place))
        }
        try located(at: place) { () throws(TypeError) in try table.declare(name, form) }
    }

    /// Runs `body`; an error of it that knows no place gets this one.
    private func located<Result>(
        at place: Int, _ body: () throws(TypeError) -> Result
    ) throws(TypeError) -> Result {
        do throws(TypeError) {
            return try body()
        } catch {
            var error = error
            if !error.isAboutType { error = TypeError(.syntax, error.message(firstIndex: 0)) }
            error.location = error.location ?? scanner.location(of: place)
            throw error
        }
    }

    // MARK: - Structs

    private mutating func structure(isDraft: Bool) throws(TypeError) -> (String, CodableType.Form) {
        let start = try scanner.start()
        let name = try scanner.name("the struct's name")
        table.announce(name)
        try scanner.expect("{")
        var fields: [StructureType.Field] = []
        while !(try scanner.skip("}")) {
            fields.append(try field(isDraft: isDraft))
            try endEntry(";")
        }
        let form = try located(at: start) { () throws(TypeError) in
            CodableType.Form.structure(try StructureType(name: name, fields: fields))
        }
        return (name, form)
    }

    /// An entry ends with the mark, the end of its line or the closing brace.
    private mutating func endEntry(_ mark: Character) throws(TypeError) {
        let sawLineEnd = try scanner.skipBlanks()
        let sawMark = try scanner.skip(mark)
        guard sawMark || sawLineEnd || scanner.isAt("}") else { throw scanner.error("\"\(mark)\" or \"}\"") }
    }

    private mutating func field(isDraft: Bool) throws(TypeError) -> StructureType.Field {
        let name = try scanner.quotableName("a field's name or \"}\"")
        try scanner.expect(":")
        let form = try type()
        var key: String?
        var isTransient = false
        var defaultValue: PropertyList?
        while true {
            if try isAtOnSameLine("@"), try scanner.skip("@") {
                try attribute(&key, &isTransient)
            } else if defaultValue == nil, try isAtOnSameLine("="), try scanner.skip("=") {
                let place = try scanner.start()
                let literal = try self.literal(of: form)
                if !isDraft {
                    defaultValue = try located(at: place) { () throws(TypeError) in try form.normalized(literal) }
                }
            } else {
                break
            }
        }
        return StructureType.Field(
            name: name, key: key, type: form, default: defaultValue, isTransient: isTransient)
    }

    /// Whether the mark comes next: it may also begin the next line, so that long fields can be broken.
    private mutating func isAtOnSameLine(_ mark: Character) throws(TypeError) -> Bool {
        var ahead = scanner
        try ahead.skipBlanks()
        return ahead.isAt(mark)
    }

    private mutating func attribute(_ key: inout String?, _ isTransient: inout Bool) throws(TypeError) {
        let start = try scanner.start()
        switch try scanner.name("key or transient") {
        case "key":
            try scanner.expect("(")
            key = try scanner.quotableName("a key")
            try scanner.expect(")")
        case "transient": isTransient = true
        default: throw scanner.error("key or transient", at: start)
        }
    }

    // MARK: - Enums

    private mutating func enumeration() throws(TypeError) -> (String, CodableType.Form) {
        let start = try scanner.start()
        let name = try scanner.name("the enum's name")
        var isInteger = false
        if try scanner.skip(":") {
            let place = try scanner.start()
            let raw = try scanner.name("String or Int")
            guard raw == "String" || raw == "Int" else { throw scanner.error("String or Int", at: place) }
            isInteger = raw == "Int"
        }
        try scanner.expect("{")
        var cases: [EnumerationType.Case] = []
        while !(try scanner.skip("}")) {
            cases.append(try enumerationCase(isInteger, after: cases.last))
            try endEntry(",")
        }
        let form = try located(at: start) { () throws(TypeError) in
            CodableType.Form.enumeration(try EnumerationType(name: name, isInteger: isInteger, cases: cases))
        }
        return (name, form)
    }

    /// As in Swift, a case without a raw value has its name, or one more than the case before it.
    private mutating func enumerationCase(
        _ isInteger: Bool, after previous: EnumerationType.Case?
    ) throws(TypeError) -> EnumerationType.Case {
        let name = try scanner.quotableName("a case or \"}\"")
        if try scanner.skip("=") {
            let place = try scanner.start()
            let value = try literal(of: .scalar(ScalarType(kind: isInteger ? .int : .string)))
            guard isInteger ? value.integer != nil : value.string != nil else {
                throw scanner.error(isInteger ? "an integer" : "a string", at: place)
            }
            return EnumerationType.Case(name: name, rawValue: value)
        }
        let next = previous?.rawValue.integer.map { $0.addingReportingOverflow(1).partialValue } ?? 0
        let value =
            try isInteger
            ? PropertyList.made { builder throws(PropertyListError) in
                try builder.append(integer: next)
            } : PropertyList.made { builder throws(PropertyListError) in try builder.append(string: name) }
        return EnumerationType.Case(name: name, rawValue: value)
    }
}

extension CodableType.Form {
    /// A default, checked and in the kinds of the type. One whose type is not declared yet stays as it is: it is checked
    /// when it is used.
    func normalized(_ value: PropertyList) throws(TypeError) -> PropertyList {
        do throws(TypeError) {
            let stored = try CodableType(self).encode(value).list
            return try CodableType(self).decode(stored)
        } catch {
            if error.code == .unknownType { return value }
            throw error
        }
    }
}

extension PropertyList {
    /// The value that `body` writes.
    static func made(
        _ body: (inout PropertyListBuilder) throws(PropertyListError) -> Void
    ) throws(TypeError) -> PropertyList {
        var builder = PropertyListBuilder()
        try builder.adding(body)
        return try finish(&builder)
    }
}
