internal import PropertyLists

/// Reads types that are described by trees, which tables of other languages are turned into. A description is a string,
/// an expression of the type language, or a dictionary with a `kind`:
///
/// | kind | other keys |
/// |---|---|
/// | `struct` | `name`; `fields`, an array of dictionaries with `name`, `type`, and where wanted `key`, `default`, `transient` |
/// | `enum` | `name`; `raw`, "String" or "Int"; `cases`, an array of names, or of arrays of a name and a raw value |
/// | `enum` without `raw` | `name`; `cases`, an array of dictionaries with `name`, and `values`, an array of dictionaries \
///   with `type`, and where wanted `name` and `default` |
/// | `array` | `element`; `length`, a range |
/// | `dictionary` | `value` |
/// | `optional` | `wrapped` |
/// | `default` | `wrapped`; `default` |
/// | a built-in type | `range` or `length`, a range |
///
/// Structs, enums, cases with associated values and fields also have `documentation`, `deprecated`, a text, and
/// `secret`.
///
/// A range is a text, such as `1...10`, `0..<1`, `1...`, or an array of the lowest and the highest.
struct TypeDescription {
    private let table: TypeTable

    init(_ table: TypeTable) {
        self.table = table
    }

    /// Recursion is bounded by the depth of the description.
    func form(of description: PropertyList, at path: PropertyListPath) throws(TypeError) -> CodableType.Form {
        if let text = description.string { return try expression(text, at: path) }
        guard description.kind == .dictionary else { throw wrong("a type", description, at: path) }
        let kind = try text("kind", of: description, at: path)
        try checkLimits(of: kind, in: description, at: path)
        switch kind {
        case "struct": return try structure(description, at: path)
        case "enum": return try enumeration(description, at: path)
        case "array":
            let element = try part("element", of: description, at: path)
            return .array(element, length: try length(of: description, at: path))
        case "dictionary": return .dictionary(try part("value", of: description, at: path))
        case "optional":
            let wrapped = try part("wrapped", of: description, at: path)
            return wrapped.isOptional ? wrapped : .optional(wrapped)
        case "default": return try defaulted(description, at: path)
        default: return .scalar(try scalar(kind, description, at: path))
        }
    }

    private func expression(_ text: String, at path: PropertyListPath) throws(TypeError) -> CodableType.Form {
        var parser = TypeParser(text, table)
        parser.stage = .part
        do throws(TypeError) {
            return try parser.expression()
        } catch {
            throw error.placed(below: path)
        }
    }

    // MARK: - Parts

    private func wrong(_ expected: String, _ found: PropertyList?, at path: PropertyListPath) -> TypeError {
        let found = found.map { "\($0.kind)" } ?? "nothing"
        return TypeError(.description, .expected(expected, found: found)).placed(below: path)
    }

    private func text(
        _ key: String, of description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> String {
        guard let text = description[key]?.string else {
            throw wrong("String", description[key], at: path.appending(.key(key)))
        }
        return text
    }

    private func part(
        _ key: String, of description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> CodableType.Form {
        guard let part = description[key] else { throw wrong("a type", nil, at: path.appending(.key(key))) }
        return try form(of: part, at: path.appending(.key(key)))
    }

    private func elements(
        _ key: String, of description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> [PropertyList] {
        guard let array = description[key], array.kind == .array || (array.kind == .dictionary && array.count == 0)
        else { throw wrong("Array", description[key], at: path.appending(.key(key))) }
        return Array(array.elements)
    }

    private func named(
        _ description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> String {
        let name = try text("name", of: description, at: path)
        do throws(TypeError) {
            try TypeName.check(name)
        } catch {
            throw error.placed(below: path)
        }
        return name
    }

    private func placed<Result>(
        at path: PropertyListPath, _ body: () throws(TypeError) -> Result
    ) throws(TypeError) -> Result {
        do throws(TypeError) {
            return try body()
        } catch {
            var error = error
            // A default that is not of its type is a fault of the description.
            if !error.isAboutType, error.code != .limitExceeded { error.code = .description }
            throw error.placed(below: path)
        }
    }

    // MARK: - Limits

    private func scalar(
        _ name: String, _ description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> ScalarType {
        guard let kind = ScalarType.Kind(rawValue: name) else {
            throw TypeError(.unknownType, "No type is named \(name)").placed(below: path)
        }
        var scalar = ScalarType(kind: kind)
        scalar.length = try length(of: description, at: path)
        guard let range = description["range"] else { return scalar }
        scalar.range = try text(of: range, at: path.appending(.key("range"))) { (parser) throws(TypeError) in
            try parser.openRange(of: kind)
        }
        return scalar
    }

    /// Throws for a range or length that the type cannot have, since it would limit nothing.
    private func checkLimits(
        of kind: String, in description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) {
        let scalar = ScalarType.Kind(rawValue: kind)
        let hasLength = kind == "array" || scalar == .string || scalar == .data
        let hasRange = !hasLength && scalar?.mayBeLimited == true
        let name = description["name"]?.string ?? kind
        for (limit, isAllowed) in [("length", hasLength), ("range", hasRange)]
        where !isAllowed && description[limit] != nil {
            throw TypeError(.description, "\(name) has no \(limit)").placed(below: path.appending(.key(limit)))
        }
    }

    private func length(
        of description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> TypeBounds<Int>? {
        guard let length = description["length"] else { return nil }
        return try text(of: length, at: path.appending(.key("length"))) { (parser) throws(TypeError) in
            try parser.openLength()
        }
    }

    /// Reads a range, from its text or as the text that an array of two numbers is.
    private func text<Result>(
        of range: PropertyList, at path: PropertyListPath,
        _ read: (inout TypeParser) throws(TypeError) -> Result
    ) throws(TypeError) -> Result {
        var text = range.string
        if range.kind == .array, range.count == 2, let low = range[0], let high = range[1], low.number != nil,
            high.number != nil
        {
            text = low.literal + "..." + high.literal
        }
        guard let text else { throw wrong("a range such as \"1...10\"", range, at: path) }
        var parser = TypeParser(text, table)
        return try placed(at: path) { () throws(TypeError) in
            let result = try read(&parser)
            guard try parser.isAtEnd() else { throw parser.scanner.error("the end of the range") }
            return result
        }
    }

    private func defaulted(
        _ description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> CodableType.Form {
        let wrapped = try part("wrapped", of: description, at: path)
        guard let value = description["default"] else {
            throw wrong("a value", nil, at: path.appending(.key("default")))
        }
        return .defaulted(
            wrapped,
            try placed(at: path.appending(.key("default"))) { () throws(TypeError) in
                try wrapped.normalized(value).compacted()
            })
    }

}

/// Structs and enums.
extension TypeDescription {
    private func structure(
        _ description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> CodableType.Form {
        let name = try named(description, at: path)
        // The name of a struct around this one refers to it: so a struct contains itself.
        if table.isAnnounced(name) { return .reference(table.reference(to: name)) }
        table.announce(name)
        let (fields, paths) = try fields("fields", of: description, at: path)
        return try placed(at: path) { () throws(TypeError) in
            let words = try words(of: description)
            let structure = try StructureType(name: name, fields: fields, words: words)
            try table.declare(name, .structure(structure))
            // Now that the name is declared, defaults that hold values of the struct itself can be checked.
            let settled = CodableType.Form.structure(try settled(structure, paths))
            table.settle(name, settled)
            return settled
        }
    }

    /// Fields with their defaults as they are given, and the path of each one's description.
    private func fields(
        _ key: String, of description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> ([StructureType.Field], [PropertyListPath]) {
        var fields: [StructureType.Field] = []
        var paths: [PropertyListPath] = []
        for (index, field) in try elements(key, of: description, at: path).enumerated() {
            paths.append([.key(key), .index(index)])
            fields.append(try self.field(field, number: index, at: path.appending([.key(key), .index(index)])))
        }
        return (fields, paths)
    }

    /// The struct with its defaults checked, and in the form that their types give them.
    private func settled(
        _ structure: StructureType, _ paths: [PropertyListPath]
    ) throws(TypeError) -> StructureType {
        var defaults: [Int: PropertyList] = [:]
        for (number, field) in structure.fields.enumerated() {
            guard let value = field.defaultValue else { continue }
            defaults[number] = try placed(at: paths[number].appending(.key("default"))) { () throws(TypeError) in
                do throws(TypeError) {
                    return try field.type.normalized(value)
                } catch {
                    // A default of a struct around this one, which is not finished: checked where the value is used.
                    if error.code == .unknownType { return value.compacted() }
                    throw error
                }
            }
        }
        return defaults.isEmpty ? structure : try structure.replacing(defaults: defaults)
    }

    /// - Parameter number: the number that names an associated value without a name.
    private func field(
        _ description: PropertyList, number: Int, at path: PropertyListPath
    ) throws(TypeError) -> StructureType.Field {
        let isNamed = path.steps.dropLast().last == .key("fields") || description["name"] != nil
        let name = try isNamed ? text("name", of: description, at: path) : VariantType.key(ofValue: number)
        let key = description["key"] == nil ? nil : try text("key", of: description, at: path)
        return StructureType.Field(
            name: name, key: key, type: try part("type", of: description, at: path), default: description["default"],
            isTransient: description["transient"]?.boolean ?? false, words: try words(of: description, at: path))
    }

    private func words(of description: PropertyList, at path: PropertyListPath = []) throws(TypeError) -> TypeWords {
        var words = TypeWords(isSecret: description["secret"]?.boolean ?? false)
        for (key, part) in [("documentation", \TypeWords.documentation), ("deprecated", \.deprecation)]
        where description[key] != nil {
            words[keyPath: part] = try text(key, of: description, at: path)
        }
        return words
    }

    private func enumeration(
        _ description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> CodableType.Form {
        guard description["raw"] != nil else { return try variant(description, at: path) }
        let name = try named(description, at: path)
        let raw = try text("raw", of: description, at: path)
        guard raw == "String" || raw == "Int" else {
            throw wrong("\"String\" or \"Int\"", description["raw"], at: path.appending(.key("raw")))
        }
        var cases: [(name: String, rawValue: PropertyList)] = []
        for (index, one) in try elements("cases", of: description, at: path).enumerated() {
            cases.append(try enumerationCase(one, raw, at: path.appending(["cases", .index(index)])))
        }
        let rawValues = try Self.list(of: cases.map(\.rawValue))
        return try placed(at: path) { () throws(TypeError) in
            let form = CodableType.Form.enumeration(
                try EnumerationType(
                    name: name, isInteger: raw == "Int",
                    cases: zip(cases, rawValues.elements).map { EnumerationType.Case(name: $0.name, rawValue: $1) },
                    words: try words(of: description)))
            try table.declare(name, form)
            return form
        }
    }

    private func enumerationCase(
        _ description: PropertyList, _ raw: String, at path: @autoclosure () -> PropertyListPath
    ) throws(TypeError) -> (name: String, rawValue: PropertyList) {
        let value = description.kind == .array ? description[1] : description
        let name = description.kind == .array ? description[0]?.string : description.string
        guard let name, let value, raw == "Int" ? value.integer != nil : value.string != nil else {
            throw wrong("a name with a raw value of \(raw)", description, at: path())
        }
        return (name, value)
    }

    /// The values in one document, which keeps nothing else alive: documents of their own would take ten times as much.
    private static func list(of values: [PropertyList]) throws(TypeError) -> PropertyList {
        try PropertyList.made { builder throws(PropertyListError) in
            try builder.beginArray()
            for value in values { try builder.append(value) }
            try builder.end()
        }
    }

    private func variant(_ description: PropertyList, at path: PropertyListPath) throws(TypeError) -> CodableType.Form {
        let name = try named(description, at: path)
        if table.isAnnounced(name) { return .reference(table.reference(to: name)) }
        table.announce(name)
        var cases: [(VariantType.Case, [PropertyListPath])] = []
        for (index, one) in try elements("cases", of: description, at: path).enumerated() {
            let casePath = path.appending(["cases", .index(index)])
            let caseName = try text("name", of: one, at: casePath)
            let (fields, paths) = one["values"] == nil ? ([], []) : try fields("values", of: one, at: casePath)
            let values = try placed(at: casePath) { () throws(TypeError) in
                try StructureType(name: "\(name).\(caseName)", fields: fields, words: try words(of: one))
            }
            cases.append((VariantType.Case(name: caseName, values: values), paths))
        }
        return try placed(at: path) { () throws(TypeError) in
            let words = try words(of: description)
            try table.declare(name, .variant(try VariantType(name: name, cases: cases.map(\.0), words: words)))
            var settled: [VariantType.Case] = []
            for (index, (one, paths)) in cases.enumerated() {
                let values = try placed(at: ["cases", .index(index)]) { () throws(TypeError) in
                    try self.settled(one.values, paths)
                }
                settled.append(VariantType.Case(name: one.name, values: values))
            }
            let form = CodableType.Form.variant(try VariantType(name: name, cases: settled, words: words))
            table.settle(name, form)
            return form
        }
    }
}
