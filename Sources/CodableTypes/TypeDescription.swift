internal import PropertyLists

/// Reads types that are described by trees: what tables of other languages are turned into. A description is a string,
/// an expression of the type language, or a dictionary with a `kind`:
///
/// | kind | other keys |
/// |---|---|
/// | `struct` | `name`; `fields`, an array of dictionaries with `name`, `type`, and where wanted `key`, `default`, `transient` |
/// | `enum` | `name`; `raw`, "String" or "Int"; `cases`, an array of names, or of arrays of a name and a raw value |
/// | `array` | `element`; `length`, an array of the lowest and the highest |
/// | `dictionary` | `value` |
/// | `optional` | `wrapped` |
/// | `default` | `wrapped`; `default` |
/// | a built-in type | `range` or `length`, an array of the lowest and the highest |
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
        parser.allowsUnknownNames = true
        do throws(TypeError) {
            return try parser.expression()
        } catch {
            throw error.placed(below: path)
        }
    }

    // MARK: - Parts

    private func wrong(_ expected: String, _ found: PropertyList?, at path: PropertyListPath) -> TypeError {
        let finding = found.map { ", found \($0.kind)" } ?? ", found nothing"
        return TypeError(.description, "Expected \(expected)", finding).placed(below: path)
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
        var scanner = TypeScanner(name)
        let word = try? scanner.name("a name")
        guard word == name, ScalarType.Kind(rawValue: name) == nil, name != "Any" else {
            throw TypeError(.description, "Expected a name for a type", ", found \"\(name)\"").placed(below: path)
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
            if !error.isAboutType { error.code = .description }
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
        let place = path.appending(.key("range"))
        guard range.count == 2, let low = range[0], let high = range[1] else {
            throw wrong("the lowest and the highest number", range, at: place)
        }
        if kind.bounds != nil, let low = low.integer, let high = high.integer, low <= high {
            scalar.range = .integers(low...high)
        } else if kind == .double || kind == .float, let low = low.number, let high = high.number, low <= high {
            scalar.range = .reals(low...high)
        } else {
            throw TypeError(.description, "Expected a range that \(name) can have").placed(below: place)
        }
        return scalar
    }

    private func length(
        of description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> ClosedRange<Int>? {
        guard let length = description["length"] else { return nil }
        guard let low = length[0]?.integer, let high = length[1]?.integer, length.count == 2, low >= 0, low <= high
        else {
            throw TypeError(.description, "Expected the lowest and the highest length")
                .placed(below: path.appending(.key("length")))
        }
        return Int(low)...Int(high)
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

    // MARK: - Declarations

    private func structure(
        _ description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> CodableType.Form {
        let name = try named(description, at: path)
        // The name of a struct around this one means that one: how a struct contains itself.
        if table.isAnnounced(name) { return .reference(table.reference(to: name)) }
        table.announce(name)
        var fields: [StructureType.Field] = []
        for (index, field) in try elements("fields", of: description, at: path).enumerated() {
            fields.append(try self.field(field, at: path.appending(["fields", .index(index)])))
        }
        return try placed(at: path) { () throws(TypeError) in
            let form = CodableType.Form.structure(try StructureType(name: name, fields: fields))
            try table.declare(name, form)
            return form
        }
    }

    private func field(
        _ description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> StructureType.Field {
        let name = try text("name", of: description, at: path)
        let type = try part("type", of: description, at: path)
        var defaultValue: PropertyList?
        if let value = description["default"] {
            defaultValue = try placed(at: path.appending(.key("default"))) { () throws(TypeError) in
                try type.normalized(value).compacted()
            }
        }
        let key = description["key"] == nil ? nil : try text("key", of: description, at: path)
        return StructureType.Field(
            name: name, key: key, type: type, default: defaultValue,
            isTransient: description["transient"]?.boolean ?? false)
    }

    private func enumeration(
        _ description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> CodableType.Form {
        let name = try named(description, at: path)
        let raw = try text("raw", of: description, at: path)
        guard raw == "String" || raw == "Int" else {
            throw wrong("\"String\" or \"Int\"", description["raw"], at: path.appending(.key("raw")))
        }
        var cases: [EnumerationType.Case] = []
        for (index, one) in try elements("cases", of: description, at: path).enumerated() {
            cases.append(try enumerationCase(one, raw, at: path.appending(["cases", .index(index)])))
        }
        return try placed(at: path) { () throws(TypeError) in
            let form = CodableType.Form.enumeration(
                try EnumerationType(name: name, isInteger: raw == "Int", cases: cases))
            try table.declare(name, form)
            return form
        }
    }

    private func enumerationCase(
        _ description: PropertyList, _ raw: String, at path: PropertyListPath
    ) throws(TypeError) -> EnumerationType.Case {
        let value = description.kind == .array ? description[1] : description
        let name = description.kind == .array ? description[0]?.string : description.string
        guard let name, let value, raw == "Int" ? value.integer != nil : value.string != nil else {
            throw wrong("a name with a raw value of \(raw)", description, at: path)
        }
        return EnumerationType.Case(name: name, rawValue: value.compacted())
    }
}
