public import PropertyLists

extension CodableType {
    /// The JSON Schema (2020-12) of the type's stored form, as the file has it, in the words of
    /// `PropertyList.jsonForm()`.
    ///
    /// The schema accepts every value that the type accepts, and refuses the others as far as JSON Schema can say it.
    /// The documentation of this module has the differences. Declared types are under `$defs`; the first sentence of a
    /// doc comment is the `title`, all of it the `description`; a secret is `writeOnly`.
    ///
    /// ```swift
    /// let settings = try TypeRegistry().declare("struct Settings { volume: Int(0...10) = 7 }")[0]
    /// let text = try settings.jsonSchema().serialized(as: .json)
    /// ```
    ///
    /// - Throws: ``TypeError`` for a name in the type that no type has any more, and where defaults make it too large.
    public func jsonSchema() throws(TypeError) -> PropertyList {
        let writer = JSONSchemaWriter(DeclaredTypes(in: form))
        do {
            var schema = try writer.schema(form)
            schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
            let definitions = try writer.definitions()
            if !definitions.isEmpty { schema["$defs"] = PropertyList(definitions) }
            if let defaultValue { schema["default"] = writer.standard(defaultValue, form) }
            return PropertyList(schema)
        } catch {
            throw TypeError(error)
        }
    }
}

/// Schemas as dictionaries, so that words and a default can be added.
private struct JSONSchemaWriter {
    typealias Schema = [String: PropertyList]

    private let types: DeclaredTypes

    init(_ types: DeclaredTypes) { self.types = types }

    func definitions() throws -> Schema {
        var definitions: Schema = [:]
        for (name, form) in types.entries { definitions[name] = PropertyList(try definition(form)) }
        return definitions
    }

    /// Recursion is bounded by the nesting of type expressions.
    func schema(_ form: CodableType.Form) throws -> Schema {
        switch form {
        case .scalar(let scalar): return scalar.schema
        case .any: return ["not": ["type": "null"]]
        case .array(let element, let length):
            var schema: Schema = ["type": "array", "items": PropertyList(try self.schema(element))]
            if let low = length?.low { schema["minItems"] = PropertyList(low) }
            if let high = length?.high { schema["maxItems"] = PropertyList(high) }
            return schema
        case .dictionary(let value):
            return ["type": "object", "additionalProperties": PropertyList(try schema(value))]
        case .optional(let wrapped):
            // The form that Swift's coders give to a nil in an array.
            return ["anyOf": PropertyList([PropertyList(try schema(wrapped)), ["enum": [.null, "$null"]]])]
        case .defaulted(let wrapped, _): return try schema(wrapped)
        case .reference(let reference): return try schema(try reference.resolved())
        case .structure, .enumeration, .variant, .swift:
            return ["$ref": PropertyList("#/$defs/" + Self.escaped(types.name(of: form) ?? ""))]
        }
    }

    /// A name in a reference: a JSON pointer in a URI.
    private static func escaped(_ name: String) -> String {
        var text = ""
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }

    private func definition(_ form: CodableType.Form) throws -> Schema {
        switch form {
        case .structure(let structure): return try object(structure).adding(structure.words)
        case .enumeration(let enumeration): return Self.choice(enumeration).adding(enumeration.words)
        case .variant(let variant): return try object(variant).adding(variant.words)
        case .swift(let type):
            // Its own code decides; an example shows a value that it takes.
            var schema = Schema().adding(type.words)
            if let example = try type.example?.jsonForm() { schema["examples"] = PropertyList([example]) }
            return schema
        default: return try schema(form)
        }
    }

    // MARK: - Structs and enums

    private func object(_ structure: StructureType) throws -> Schema {
        let fields = structure.fields.filter { !$0.isTransient }
        var properties: Schema = [:]
        for field in fields {
            var schema = try self.schema(field.type).adding(field.words)
            if let value = field.defaultValue, !field.words.isSecret { schema["default"] = standard(value, field.type) }
            properties[field.key] = PropertyList(schema)
        }
        var schema: Schema = ["type": "object", "properties": PropertyList(properties)]
        let required = fields.filter { !$0.mayBeAbsent }
        if !required.isEmpty { schema["required"] = PropertyList(required.map { PropertyList($0.key) }) }
        return schema
    }

    /// The default as the file would have it; nil for one that is too large to be read, cannot be written, or holds a
    /// secret.
    func standard(_ value: PropertyList, _ form: CodableType.Form) -> PropertyList? {
        guard let value = form.shown(value) else { return nil }
        let size = value.size
        guard size.nodes <= 1000, size.text <= 10_000 else { return nil }
        return try? CodableType(form).encode(value).list.jsonForm()
    }

    private static func choice(_ enumeration: EnumerationType) -> Schema {
        guard enumeration.cases.contains(where: { !$0.words.isEmpty }) else {
            return ["enum": PropertyList(enumeration.cases.map(\.rawValue))]
        }
        let cases = enumeration.cases.map { one in PropertyList(["const": one.rawValue].adding(one.words)) }
        return ["oneOf": PropertyList(cases)]
    }

    /// An object with the values of each case under its name, of which exactly one is there.
    private func object(_ variant: VariantType) throws -> Schema {
        var properties: Schema = [:]
        for one in variant.cases {
            properties[one.name] = PropertyList(try object(one.values).adding(one.values.words))
        }
        let choices = variant.cases.map { PropertyList(["required": PropertyList([PropertyList($0.name)])]) }
        return ["type": "object", "properties": PropertyList(properties), "oneOf": PropertyList(choices)]
    }
}

extension [String: PropertyList] {
    /// The schema with words for people.
    fileprivate func adding(_ words: TypeWords) -> Self {
        var schema = self
        let notes = [words.documentation, words.deprecation.map { "Deprecated: \($0)" }].compactMap { $0 }
        if let title = words.title { schema["title"] = PropertyList(title) }
        if !notes.isEmpty { schema["description"] = PropertyList(notes.joined(separator: "\n\n")) }
        if words.deprecation != nil { schema["deprecated"] = true }
        if words.isSecret { schema["writeOnly"] = true }
        return schema
    }
}

// MARK: - Scalars

extension ScalarType {
    fileprivate var schema: [String: PropertyList] {
        switch kind {
        case .bool: ["type": "boolean"]
        case .float, .double: realSchema
        case .decimal:
            [
                "anyOf": [
                    ["type": "number"], ["type": "string", "pattern": "^(NaN|[-+.eE]*[0-9][-+.eE0-9]*)$"],
                    Self.marked("$real", ["const": "nan"]),
                ]
            ]
        case .string: ["type": "string"].merging(lengths("Length")) { $1 }
        case .url: ["type": "string", "minLength": 1]
        case .uuid: ["type": "string", "pattern": "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"]
        case .data:
            Self.mark(
                "$data", PropertyList(["type": "string", "contentEncoding": "base64"].merging(base64Lengths) { $1 }))
        case .date: Self.mark("$date", Self.dateSchema)
        case .uid: Self.mark("$uid", ["type": "integer", "minimum": 0, "maximum": PropertyList(Int64(UInt32.max))])
        case .duration:
            [
                "type": "array", "minItems": 2,
                "prefixItems": PropertyList([
                    PropertyList(ScalarType(kind: .int64).schema), PropertyList(ScalarType(kind: .uint64).schema),
                ]),
            ]
        default: integerSchema
        }
    }

    private static let dateSchema: PropertyList = [
        "anyOf": [
            ["type": "number"],
            ["type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"],
        ]
    ]

    /// An object of one key, for a value that JSON has no word for.
    private static func mark(_ key: String, _ value: PropertyList) -> [String: PropertyList] {
        [
            "type": "object", "properties": PropertyList([key: value]), "required": PropertyList([PropertyList(key)]),
            "additionalProperties": false,
        ]
    }

    private static func marked(_ key: String, _ value: PropertyList) -> PropertyList { PropertyList(mark(key, value)) }

    private func lengths(_ what: String) -> [String: PropertyList] {
        var schema: [String: PropertyList] = [:]
        if let low = length?.low { schema["min" + what] = PropertyList(low) }
        if let high = length?.high { schema["max" + what] = PropertyList(high) }
        return schema
    }

    /// The lengths of base64 for those of the bytes: four characters for each three begun.
    private var base64Lengths: [String: PropertyList] {
        func characters(_ bytes: Int) -> PropertyList? {
            let (sum, isLarge) = bytes.addingReportingOverflow(2)
            let (count, overflows) = (sum / 3).multipliedReportingOverflow(by: 4)
            return isLarge || overflows ? nil : PropertyList(count)
        }
        var schema: [String: PropertyList] = [:]
        schema["minLength"] = length?.low.flatMap(characters)
        schema["maxLength"] = length?.high.flatMap(characters)
        return schema
    }

    private var integerSchema: [String: PropertyList] {
        guard let bounds = kind.bounds else { return ["type": "integer"] }
        var (low, high) = (Int128(bounds.low), Int128(bounds.high))
        if case .integers(let range) = range {
            low = max(low, range.low ?? low)
            high = min(high, range.high ?? high)
        }
        // No number of the kind is in the range.
        guard low <= high else { return ["not": [:]] }
        return ["type": "integer", "minimum": Self.number(low), "maximum": Self.number(high)]
    }

    /// A whole number that 64 bits hold.
    private static func number(_ number: Int128) -> PropertyList {
        Int64(exactly: number).map { PropertyList($0) } ?? PropertyList(UInt64(clamping: number))
    }

    /// The numbers of the range; infinity beside it where the range is open to it, and not-a-number where there is
    /// none.
    private var realSchema: [String: PropertyList] {
        var schema: [String: PropertyList] = ["type": "number"]
        var others: [PropertyList] = []
        let range: TypeBounds<Double>? = if case .reals(let range) = range { range } else { nil }
        if let low = range?.low {
            schema["minimum"] = PropertyList(rounded(low, down: true))
        } else {
            others.append("-inf")
        }
        if let high = range?.high {
            let isOpen = range?.isHalfOpen == true && kind == .double
            schema[isOpen ? "exclusiveMaximum" : "maximum"] = PropertyList(rounded(high, down: false))
        } else {
            others.append("inf")
        }
        if range == nil { others.append("nan") }
        if kind == .float { schema.merge(Self.floatLimits) { mine, _ in mine } }
        guard !others.isEmpty else { return schema }
        let real = Self.marked("$real", PropertyList(["enum": PropertyList(others)]))
        return ["anyOf": PropertyList([PropertyList(schema), real])]
    }

    /// The bound of a Float, which rounds a number before it looks at it, is the next one outside.
    private func rounded(_ bound: Double, down: Bool) -> Double {
        guard kind == .float else { return bound }
        let outside = Double(down ? Float(bound).nextDown : Float(bound).nextUp)
        return outside.isFinite ? outside : bound
    }

    /// The numbers that do not become infinite when they are rounded to a Float.
    private static var floatLimits: [String: PropertyList] {
        let limit = 0x1.ffffffp127
        return ["exclusiveMinimum": PropertyList(-limit), "exclusiveMaximum": PropertyList(limit)]
    }
}
