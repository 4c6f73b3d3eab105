/// Finds structs that no finite value is of: those that contain themselves, by fields that must be there.
enum Containment {
    static func check(_ form: CodableType.Form) throws(TypeError) {
        guard case .structure(let structure) = form else { return }
        for field in structure.fields where try reaches(structure, from: field) {
            throw TypeError(
                .description, "Struct \(structure.name) contains itself: make \(field.name) optional or an array")
        }
    }

    /// Whether a value of the field must contain one of the struct. A list rather than recursion: chains may be long.
    private static func reaches(_ structure: StructureType, from field: StructureType.Field) throws(TypeError) -> Bool {
        var seen: Set<ObjectIdentifier> = []
        var pending = [field]
        while let next = pending.popLast() {
            guard !next.isTransient, let inner = try part(next.type, next.defaultValue != nil) else { continue }
            if inner === structure { return true }
            if seen.insert(ObjectIdentifier(inner)).inserted { pending += inner.fields }
        }
        return false
    }

    /// The struct that a value of the type is, where it must be there.
    private static func part(_ form: CodableType.Form, _ hasDefault: Bool) throws(TypeError) -> StructureType? {
        switch form {
        case .structure(let structure): structure
        case .reference(let reference): try part(try reference.resolved(), hasDefault)
        case .optional(let wrapped): hasDefault ? try part(wrapped, hasDefault) : nil
        default: nil
        }
    }
}
