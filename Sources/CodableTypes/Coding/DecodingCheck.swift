internal import PropertyLists

/// Says what is wrong with a stored value: the first fault, in the order of declarations, as Swift would find it.
///
/// ``PlanDecoding`` is fast and knows only that something is wrong. Recursion is bounded by ``TypeLimits``.
struct DecodingCheck {
    let document: Document

    static func check(_ stored: PropertyList, _ form: CodableType.Form) throws(TypeError) {
        try TypeLimits.check(stored)
        try DecodingCheck(document: stored.document).check(stored.index, form)
    }

    private func value(_ index: Int) -> PropertyList { PropertyList(document: document, index: index) }

    private func check(_ index: Int, _ form: CodableType.Form) throws(TypeError) {
        switch form {
        case .scalar(let scalar): _ = try scalar.form(of: value(index))
        case .any: if value(index).isNull { throw .mismatch("Any", value(index)) }
        case .array(let element, let length): try checkArray(index, element, length)
        case .dictionary(let element): try checkDictionary(index, element)
        case .optional(let wrapped): if !value(index).isNil { try check(index, wrapped) }
        case .defaulted(let wrapped, _): try check(index, wrapped)
        case .structure(let structure): try checkStructure(index, structure)
        case .variant(let variant): try checkVariant(index, variant)
        case .enumeration(let enumeration): _ = try enumeration.form(of: value(index))
        case .swift(let type): _ = try type.decode(value(index))
        case .reference(let reference): try check(index, try reference.resolved())
        }
    }

    private func expect(_ kind: PropertyListKind, _ index: Int) throws(TypeError) {
        guard document.nodes[index].kind != kind else { return }
        throw .mismatch(kind == .array ? "Array<Any>" : "Dictionary<String, Any>", value(index))
    }

    private func checkArray(
        _ index: Int, _ element: CodableType.Form, _ length: TypeBounds<Int>?
    ) throws(TypeError) {
        try expect(.array, index)
        if let length { try checkLength(value(index).count, length, "elements") }
        for (number, inner) in value(index).elements.enumerated() {
            try placing(.index(number)) { () throws(TypeError) in try check(inner.index, element) }
        }
    }

    private func checkDictionary(_ index: Int, _ element: CodableType.Form) throws(TypeError) {
        try expect(.dictionary, index)
        for (key, inner) in value(index).entries {
            try placing(.key(key)) { () throws(TypeError) in try check(inner.index, element) }
        }
    }

    /// In the order of declaration, so that of several faults the one is told that Swift would tell.
    private func checkStructure(_ index: Int, _ structure: StructureType) throws(TypeError) {
        try expect(.dictionary, index)
        for field in structure.fields where !field.isTransient {
            guard let found = value(index)[field.key], !(field.isOptional && found.isNil) else {
                if !field.mayBeAbsent { throw .missingField(field.key) }
                continue
            }
            try placing(.key(field.key)) { () throws(TypeError) in try check(found.index, field.type) }
        }
    }

    /// Keys that are no case's are not counted, as Swift does.
    private func checkVariant(_ index: Int, _ variant: VariantType) throws(TypeError) {
        try expect(.dictionary, index)
        let known = value(index).entries.filter { variant.values(ofCase: $0.key) != nil }
        guard known.count == 1, let (name, inner) = known.first, let values = variant.values(ofCase: name) else {
            throw VariantType.wrongCount
        }
        try placing(.key(name)) { () throws(TypeError) in try checkStructure(inner.index, values) }
    }
}

/// Runs `body`, whose error happened one step further in.
func placing(_ step: PropertyListPath.Step, _ body: () throws(TypeError) -> Void) throws(TypeError) {
    do throws(TypeError) {
        try body()
    } catch {
        throw error.placed(at: step)
    }
}
