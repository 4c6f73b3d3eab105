internal import PropertyLists

/// Says what is wrong with a value that is to be stored: the first fault, in the order of declarations.
///
/// ``PlanEncoding`` is fast and knows only that something is wrong. Recursion is bounded by ``TypeLimits``.
struct EncodingCheck {
    static func check(_ value: PropertyList, _ form: CodableType.Form) throws(TypeError) {
        try TypeLimits.check(value)
        try EncodingCheck().check(value, form)
    }

    private func check(_ value: PropertyList, _ form: CodableType.Form) throws(TypeError) {
        switch form {
        case .scalar(let scalar): _ = try scalar.form(of: value)
        case .any: if value.isNull { throw .mismatch("Any", value) }
        case .array(let element, let length): try checkArray(value, element, length)
        case .dictionary(let element): try checkDictionary(value, element)
        case .optional(let wrapped): if !value.isNil { try check(value, wrapped) }
        case .defaulted(let wrapped, _): try check(value, wrapped)
        case .structure(let structure): try checkStructure(value, structure)
        case .variant(let variant): try checkVariant(value, variant)
        case .enumeration(let enumeration): _ = try enumeration.form(of: value)
        case .swift(let type): _ = try type.encode(value, over: nil)
        case .reference(let reference): try check(value, try reference.resolved())
        }
    }

    private func checkArray(
        _ value: PropertyList, _ element: CodableType.Form, _ length: TypeBounds<Int>?
    ) throws(TypeError) {
        // An empty table of Lua is a dictionary, as long as nothing says that it is an array.
        guard value.kind == .array || value.kind == .dictionary && value.count == 0 else {
            throw .mismatch("Array<Any>", value)
        }
        if let length { try checkLength(value.count, length, "elements") }
        for (index, inner) in value.elements.enumerated() {
            try placing(.index(index)) { () throws(TypeError) in try check(inner, element) }
        }
    }

    private func checkDictionary(_ value: PropertyList, _ element: CodableType.Form) throws(TypeError) {
        guard value.kind == .dictionary else { throw .mismatch("Dictionary<String, Any>", value) }
        for (key, inner) in value.entries {
            try placing(.key(key)) { () throws(TypeError) in try check(inner, element) }
        }
    }

    private func checkStructure(_ value: PropertyList, _ structure: StructureType) throws(TypeError) {
        guard value.kind == .dictionary else { throw .mismatch("Dictionary<String, Any>", value) }
        for field in structure.fields where !field.isTransient {
            guard let inner = value[field.name], !(field.isOptional && inner.isNil) else {
                if field.mayBeAbsent { continue }
                try checkNames(of: value, structure)
                throw .missingField(field.name)
            }
            try placing(.key(field.name)) { () throws(TypeError) in try check(inner, field.type) }
        }
        try checkNames(of: value, structure)
    }

    /// A key that no field has is a misspelling, or would be lost.
    private func checkNames(of value: PropertyList, _ structure: StructureType) throws(TypeError) {
        guard let given = value.keys.first(where: { structure.field(named: $0) == nil }) else { return }
        throw .unknown("field", given, of: structure.name, among: structure.fields.map(\.name))
    }

    private func checkVariant(_ value: PropertyList, _ variant: VariantType) throws(TypeError) {
        guard value.kind == .dictionary else { throw .mismatch("Dictionary<String, Any>", value) }
        if let given = value.keys.first(where: { variant.values(ofCase: $0) == nil }) {
            throw .unknown("case", given, of: variant.name, among: variant.cases.map(\.name))
        }
        guard value.count == 1, let (name, inner) = value.entries.first(where: { _ in true }),
            let values = variant.values(ofCase: name)
        else { throw VariantType.wrongCount }
        try placing(.key(name)) { () throws(TypeError) in try checkStructure(inner, values) }
    }
}
