/// Finds structs that have no finite value, since they contain themselves by fields that must be there.
///
/// A walk that meets each struct once, with a list rather than recursion: chains may be long.
struct Containment {
    private enum Mark {
        /// On the way from the first struct to the current one.
        case open
        case done
    }

    private var marks: [ObjectIdentifier: Mark] = [:]

    static func check(_ forms: some Sequence<CodableType.Form>) throws(TypeError) {
        var containment = Containment()
        for form in forms {
            guard case .structure(let structure) = form else { continue }
            try containment.walk(structure)
        }
    }

    private mutating func walk(_ first: StructureType) throws(TypeError) {
        guard marks[ObjectIdentifier(first)] == nil else { return }
        marks[ObjectIdentifier(first)] = .open
        var trail = [(type: first, field: 0)]
        while let (type, index) = trail.last {
            guard index < type.fields.count else {
                marks[ObjectIdentifier(type)] = .done
                trail.removeLast()
                continue
            }
            trail[trail.count - 1].field += 1
            let field = type.fields[index]
            guard !field.isTransient, let inner = try Self.part(field.type, field.defaultValue != nil) else { continue }
            switch marks[ObjectIdentifier(inner)] {
            case .done: break
            case .open:
                // The beginning of the circle: the struct that was met again, and the field that led on from it.
                let start = trail.first { $0.type === inner }
                let name = start.map { inner.fields[$0.field - 1].name } ?? field.name
                throw TypeError(.description, "Struct \(inner.name) contains itself: make \(name) optional or an array")
            case nil:
                marks[ObjectIdentifier(inner)] = .open
                trail.append((inner, 0))
            }
        }
    }

    /// The struct of a value that must be there; nil for any other type.
    private static func part(_ form: CodableType.Form, _ hasDefault: Bool) throws(TypeError) -> StructureType? {
        switch form {
        case .structure(let structure): structure
        case .reference(let reference): try part(try reference.resolved(), hasDefault)
        case .optional(let wrapped): hasDefault ? try part(wrapped, hasDefault) : nil
        default: nil
        }
    }
}
