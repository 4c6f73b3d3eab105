internal import PropertyLists

/// Checks the defaults of structs once everything is declared, and fills in the defaults of the structs in them.
///
/// A default in which its own struct stands has no end: there the field counts as one without a default, and the
/// error is that it is missing.
struct DefaultSettling {
    private var begun: Set<ObjectIdentifier> = []

    mutating func settle(_ structure: StructureType, depth: Int) throws(TypeError) {
        guard structure.hasPendingDefaults, begun.insert(ObjectIdentifier(structure)).inserted else { return }
        for field in structure.fields where field.pending != nil { try settleParts(of: field.type, depth: depth) }
        try structure.settle { form, pending throws(TypeError) in
            do throws(TypeError) {
                return try form.normalized(pending.value).compacted()
            } catch {
                throw Self.placed(error, pending)
            }
        }
    }

    /// The structs that are parts come first. Depth is bounded; nobody nests defaults that far.
    private mutating func settleParts(of form: CodableType.Form, depth: Int) throws(TypeError) {
        guard depth < CodableType.Form.maximumNesting else { return }
        switch form {
        case .scalar, .any, .enumeration: break
        case .array(let inner, _), .dictionary(let inner), .optional(let inner), .defaulted(let inner, _):
            try settleParts(of: inner, depth: depth)
        case .structure(let structure): try settleAll(structure, depth: depth + 1)
        case .reference(let reference): try settleParts(of: try reference.resolved(), depth: depth + 1)
        }
    }

    private mutating func settleAll(_ structure: StructureType, depth: Int) throws(TypeError) {
        if structure.hasPendingDefaults { return try settle(structure, depth: depth) }
        guard begun.insert(ObjectIdentifier(structure)).inserted else { return }
        for field in structure.fields { try settleParts(of: field.type, depth: depth) }
    }

    private static func placed(_ error: TypeError, _ pending: StructureType.PendingDefault) -> TypeError {
        guard let location = pending.location else { return error.inType(.description).placed(below: pending.path) }
        var error = error.inType(.syntax)
        error.location = error.location ?? location
        return error
    }
}
