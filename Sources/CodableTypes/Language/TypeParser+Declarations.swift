internal import PropertyLists

/// Declarations:
///
/// ```
/// declaration := "struct" name words* "{" field* "}"
///              | "indirect"? "enum" name (":" ("String" | "Int"))? words* "{" case* "}"
///              | "root" name
/// field       := name ":" expression ("@key(" name ")" | "@transient" | words | "=" literal)*
/// words       := "@deprecated(" text ")" | "@secret"
/// case        := name ("=" literal | "(" value ("," value)* ")")? words*
/// value       := (name ":")? expression ("=" literal)?
/// ```
///
/// Names that are no words need quotes. A field ends with `;`, a case with `,`, both also with their line or the
/// closing brace. Comments are `// …` and `/* … */`; `/// …` before a struct, an enum, a case or a field documents it.
extension TypeParser {
    /// Declares everything in the text; gives it in the text's order.
    ///
    /// Three passes: the types without their defaults, since a default may name a case of an enum that stands further
    /// down; the types with their defaults as they are written; and each default in the form that its type gives it.
    mutating func declarations() throws(TypeError) -> [CodableType.Form] {
        var first = self
        first.stage = .types
        while try first.isAtDeclaration() { _ = try first.declaration() }
        guard first.scanner.isAtEnd else { throw first.scanner.error("struct or enum") }
        try first.checkNames()
        stage = .defaults
        var names: [String] = []
        while try isAtDeclaration() {
            if let name = try declaration() { names.append(name) }
        }
        try settleDefaults()
        return names.compactMap { table.form(named: $0) }
    }

    private mutating func isAtDeclaration() throws(TypeError) -> Bool {
        while try scanner.skip(";") {}
        return try scanner.isAtName()
    }

    /// Throws for the first name that no type has by now.
    private func checkNames() throws(TypeError) {
        for (name, position) in unknownNames where table.form(named: name) == nil { throw unknown(name, at: position) }
    }

    /// Gives the declared name; nil for a line that names the root.
    private mutating func declaration() throws(TypeError) -> String? {
        let start = try scanner.start()
        let documentation = scanner.documentation()
        var word = try scanner.name("struct or enum")
        if word == "root" {
            try readRoot(at: start)
            return nil
        }
        if word == "indirect" { word = try scanner.name("enum") }
        guard word == "enum" || word == "struct" && !scanner.isBehind("indirect", from: start) else {
            throw scanner.error("struct or enum", at: start)
        }
        let position = try scanner.start()
        let name = try scanner.name(word == "struct" ? "the struct's name" : "the enum's name")
        guard !TypeName.isBuiltIn(name) else {
            throw TypeError(.redeclared, "\(name) is a built-in type", location: scanner.location(of: start))
        }
        table.announce(name)
        let form =
            try word == "struct"
            ? structure(name, documentation, at: position) : enumeration(name, documentation, at: position)
        try located(at: start) { () throws(TypeError) in
            if stage == .types { return try table.declare(name, form) }
            // The first pass saw no defaults.
            if let known = finished[name], known != form {
                throw TypeError(.redeclared, "\(name) already means another type")
            }
        }
        // Not in the closure: the parser is copied for its call, and the dictionary would be, for each type.
        if stage == .defaults {
            finished[name] = form
            table.settle(name, form)
        }
        return name
    }

    /// `root Settings`: the type of a store, once in a text.
    private mutating func readRoot(at start: Int) throws(TypeError) {
        let position = try scanner.start()
        guard root == nil else { throw scanner.error("one root", at: start) }
        let name = try scanner.name("the name of the root's type")
        root = name
        if stage == .types { unknownNames.append((name, position)) }
    }

    /// Runs `body`; an error of it that knows no position gets this one.
    private func located<Result>(at position: Int, _ body: () throws(TypeError) -> Result) throws(TypeError) -> Result {
        do throws(TypeError) {
            return try body()
        } catch {
            var error = error
            if !error.isAboutType, error.code != .limitExceeded {
                error = error.inText()
            }
            error.location = error.location ?? scanner.location(of: position)
            throw error
        }
    }

    // MARK: - Structs

    private mutating func structure(
        _ name: String, _ documentation: String?, at position: Int
    ) throws(TypeError) -> CodableType.Form {
        var words = TypeWords(documentation)
        try attributes(of: &words)
        try scanner.expect("{")
        var fields: [StructureType.Field] = []
        while !(try scanner.skip("}")) {
            fields.append(try field(number: fields.count, of: name))
            try endEntry(";")
        }
        return try located(at: position) { () throws(TypeError) in
            .structure(try StructureType(name: name, fields: fields, words: words))
        }
    }

    /// Moves over the end of an entry: the mark, the end of its line or the closing brace.
    private mutating func endEntry(_ mark: Character) throws(TypeError) {
        let sawLineEnd = try scanner.skipBlanks()
        let sawMark = try scanner.skip(mark)
        guard sawMark || sawLineEnd || scanner.isAt("}") else { throw scanner.error("\"\(mark)\" or \"}\"") }
    }

    private mutating func field(number: Int, of structure: String) throws(TypeError) -> StructureType.Field {
        try scanner.skipBlanks()
        var words = TypeWords(scanner.documentation())
        let name = try scanner.quotableName("a field's name or \"}\"")
        try scanner.expect(":")
        let form = try type()
        var key: String?
        var isTransient = false
        var defaultValue: PropertyList?
        // Either may also begin the next line, so that long fields can be broken.
        while true {
            if try scanner.skip("@") {
                try attribute(&key, &isTransient, &words)
            } else if defaultValue == nil, try scanner.skip("=") {
                defaultValue = try standard(of: form, DefaultSlot(type: structure, part: nil, field: number))
            } else {
                break
            }
        }
        return StructureType.Field(
            name: name, key: key, type: form, default: stage == .types ? nil : defaultValue, isTransient: isTransient,
            words: words)
    }

    /// The default that comes next, as it is written.
    private mutating func standard(
        of form: CodableType.Form, _ slot: DefaultSlot
    ) throws(TypeError) -> PropertyList {
        let position = try scanner.start()
        let literal = try literal(of: form)
        if stage == .defaults { defaults.append((slot, position)) }
        return literal
    }

    private mutating func attribute(
        _ key: inout String?, _ isTransient: inout Bool, _ words: inout TypeWords
    ) throws(TypeError) {
        let start = try scanner.start()
        let name = try scanner.name("key or transient")
        switch name {
        case "key":
            try scanner.expect("(")
            key = try scanner.quotableName("a key")
            try scanner.expect(")")
        case "transient": isTransient = true
        default:
            guard try attribute(name, of: &words) else {
                throw scanner.error("key, transient, deprecated or secret", at: start)
            }
        }
    }

    /// The attributes that come next, of an enum or a case, which have no others than these.
    private mutating func attributes(of words: inout TypeWords) throws(TypeError) {
        while try scanner.skip("@") {
            let start = try scanner.start()
            guard try attribute(try scanner.name("deprecated or secret"), of: &words) else {
                throw scanner.error("deprecated or secret", at: start)
            }
        }
    }

    /// Reads an attribute that changes nothing about values; false for any other.
    private mutating func attribute(_ name: String, of words: inout TypeWords) throws(TypeError) -> Bool {
        switch name {
        case "secret": words.isSecret = true
        case "deprecated":
            try scanner.expect("(")
            words.deprecation = try scanner.string()
            try scanner.expect(")")
        default: return false
        }
        return true
    }

    // MARK: - Enums

    /// An enum with raw values where a raw type is named, else with associated values, as in Swift.
    private mutating func enumeration(
        _ name: String, _ documentation: String?, at position: Int
    ) throws(TypeError) -> CodableType.Form {
        var words = TypeWords(documentation)
        guard try scanner.skip(":") else { return try variant(name, words, at: position) }
        let rawStart = try scanner.start()
        let raw = try scanner.name("String or Int")
        guard raw == "String" || raw == "Int" else { throw scanner.error("String or Int", at: rawStart) }
        try attributes(of: &words)
        try scanner.expect("{")
        var cases: [EnumerationType.Case] = []
        while !(try scanner.skip("}")) {
            cases.append(try enumerationCase(raw == "Int", after: cases.last))
            try endEntry(",")
        }
        return try located(at: position) { () throws(TypeError) in
            .enumeration(try EnumerationType(name: name, isInteger: raw == "Int", cases: cases, words: words))
        }
    }

    /// As in Swift, a case without a raw value has its name, or one more than the case before it.
    private mutating func enumerationCase(
        _ isInteger: Bool, after previous: EnumerationType.Case?
    ) throws(TypeError) -> EnumerationType.Case {
        try scanner.skipBlanks()
        var words = TypeWords(scanner.documentation())
        let name = try scanner.quotableName("a case or \"}\"")
        let value = try rawValue(of: name, isInteger, after: previous)
        try attributes(of: &words)
        return EnumerationType.Case(name: name, rawValue: value, words: words)
    }

    private mutating func rawValue(
        of name: String, _ isInteger: Bool, after previous: EnumerationType.Case?
    ) throws(TypeError) -> PropertyList {
        guard try scanner.skip("=") else { return try standardRawValue(of: name, isInteger, after: previous) }
        let position = try scanner.start()
        let value = try literal(of: .scalar(ScalarType(kind: isInteger ? .int : .string)))
        guard isInteger ? value.integer != nil : value.string != nil else {
            throw scanner.error(isInteger ? "an integer" : "a string", at: position)
        }
        return value
    }

    private func standardRawValue(
        of name: String, _ isInteger: Bool, after previous: EnumerationType.Case?
    ) throws(TypeError) -> PropertyList {
        let next = previous?.rawValue.integer.map { $0.addingReportingOverflow(1).partialValue } ?? 0
        return try PropertyList.made { builder throws(PropertyListError) in
            if isInteger { try builder.append(integer: next) } else { try builder.append(string: name) }
        }
    }

    private mutating func variant(
        _ name: String, _ words: TypeWords, at position: Int
    ) throws(TypeError) -> CodableType.Form {
        var words = words
        try attributes(of: &words)
        try scanner.expect("{")
        var cases: [VariantType.Case] = []
        while !(try scanner.skip("}")) {
            let caseStart = try scanner.start()
            var caseWords = TypeWords(scanner.documentation())
            let caseName = try scanner.quotableName("a case or \"}\"")
            var fields: [StructureType.Field] = []
            if try scanner.skip("(") { fields = try associatedValues(ofCase: cases.count, of: name) }
            try attributes(of: &caseWords)
            let values = try located(at: caseStart) { () throws(TypeError) in
                try StructureType(name: "\(name).\(caseName)", fields: fields, words: caseWords)
            }
            cases.append(VariantType.Case(name: caseName, values: values))
            try endEntry(",")
        }
        return try located(at: position) { () throws(TypeError) in
            .variant(try VariantType(name: name, cases: cases, words: words))
        }
    }

    /// The associated values behind the opening bracket, up to the closing one.
    private mutating func associatedValues(
        ofCase number: Int, of type: String
    ) throws(TypeError) -> [StructureType.Field] {
        var fields: [StructureType.Field] = []
        while !(try scanner.skip(")")) {
            let name = try label() ?? VariantType.key(ofValue: fields.count)
            let form = try self.type()
            var defaultValue: PropertyList?
            if try scanner.skip("=") {
                let slot = DefaultSlot(type: type, part: number, field: fields.count)
                defaultValue = try standard(of: form, slot)
            }
            fields.append(
                StructureType.Field(
                    name: name, key: nil, type: form, default: stage == .types ? nil : defaultValue,
                    isTransient: false))
            try scanner.skipBlanks()
            if scanner.isAt(")") { continue }
            guard try scanner.skip(",") else { throw scanner.error("\",\" or \")\"") }
        }
        return fields
    }

    /// A name with a colon behind it; nil where a type comes next.
    mutating func label() throws(TypeError) -> String? {
        var ahead = scanner
        let isAtName = try ahead.isAtName()
        guard isAtName || ahead.isAt("\"") else { return nil }
        let name = try ahead.quotableName("a label")
        guard try ahead.skip(":") else { return nil }
        scanner = ahead
        return name
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

extension TypeParser {
    /// The owner of a default: a struct's field, or an associated value of a case, by its number.
    struct DefaultSlot {
        let type: String
        let part: Int?
        let field: Int
    }

    /// Brings each default into the form that its type gives it, and checks it by that.
    ///
    /// A struct's default is filled in from the defaults of its own fields, which may stand further down: this is
    /// repeated until nothing changes. Each round reaches at least one level further in, and literals have few.
    private mutating func settleDefaults() throws(TypeError) {
        var pending = defaults
        var rounds = 0
        while !pending.isEmpty, rounds <= Self.maximumDepth {
            pending = try settle(pending)
            rounds += 1
        }
    }

    /// Settles defaults once; gives those that may change again.
    private func settle(
        _ pending: [(slot: DefaultSlot, position: Int)]
    ) throws(TypeError) -> [(slot: DefaultSlot, position: Int)] {
        var again: [(slot: DefaultSlot, position: Int)] = []
        var first = pending.startIndex
        while first < pending.endIndex {
            // A type's defaults follow one another: the type is made anew once for all of them.
            let name = pending[first].slot.type
            let end = pending[first...].firstIndex { $0.slot.type != name } ?? pending.endIndex
            var type = DefaultedType(table.form(named: name))
            for (slot, position) in pending[first..<end] {
                let hasChanged = try located(at: position) { () throws(TypeError) in try type.settle(slot) }
                if hasChanged { again.append((slot, position)) }
            }
            if let form = try type.form() { table.settle(name, form) }
            first = end
        }
        return again
    }
}

/// A struct or enum and the changes of its defaults.
private struct DefaultedType {
    private let old: CodableType.Form?
    private var changes: [Int: [Int: PropertyList]] = [:]

    init(_ form: CodableType.Form?) { old = form }

    private func structure(_ part: Int?) -> StructureType? {
        switch old {
        case .structure(let structure): structure
        case .variant(let variant): part.map { variant.cases[$0].values }
        default: nil
        }
    }

    /// Gives true where the default has changed and may change again, since it has parts.
    mutating func settle(_ slot: TypeParser.DefaultSlot) throws(TypeError) -> Bool {
        guard let field = structure(slot.part)?.fields[slot.field], let value = field.defaultValue else {
            return false
        }
        let settled = try field.type.normalized(value)
        guard settled != value else { return false }
        changes[slot.part ?? 0, default: [:]][slot.field] = settled
        return settled.kind.isContainer
    }

    /// The type with its new defaults; nil where there are none.
    func form() throws(TypeError) -> CodableType.Form? {
        guard !changes.isEmpty else { return nil }
        switch old {
        case .structure(let structure): return .structure(try structure.replacing(defaults: changes[0] ?? [:]))
        case .variant(let variant):
            var cases: [VariantType.Case] = []
            for (number, one) in variant.cases.enumerated() {
                let values = try one.values.replacing(defaults: changes[number] ?? [:])
                cases.append(VariantType.Case(name: one.name, values: values))
            }
            return .variant(try VariantType(name: variant.name, cases: cases, words: variant.words))
        default: return nil
        }
    }
}

extension CodableType.Form {
    /// A default, checked and in the kinds of the type.
    func normalized(_ value: PropertyList) throws(TypeError) -> PropertyList {
        if case .swift = self { return value }
        let type = CodableType(self)
        return try type.decode(try type.encode(value).list).compacted()
    }
}

extension StructureType {
    /// The struct with other defaults for some fields, by their numbers.
    func replacing(defaults: [Int: PropertyList]) throws(TypeError) -> StructureType {
        guard !defaults.isEmpty else { return self }
        return try StructureType(
            name: name,
            fields: fields.enumerated().map { number, field in
                Field(
                    name: field.name, key: field.key, type: field.type, default: defaults[number] ?? field.defaultValue,
                    isTransient: field.isTransient, words: field.words)
            },
            words: words)
    }
}
