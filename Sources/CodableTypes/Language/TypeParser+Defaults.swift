internal import PropertyLists

extension TypeParser {
    /// Whose default one is: a struct's field's, or an associated value's of a case, by its number.
    struct DefaultPlace {
        let type: String
        let part: Int?
        let field: Int
    }

    /// Brings each default into the form that its type gives it, and checks it by that.
    ///
    /// A struct's default is filled in from the defaults of its own fields, which may stand further down: this is
    /// repeated until nothing changes. Each round reaches at least one level further in, and literals have few.
    mutating func settleDefaults() throws(TypeError) {
        var pending = defaults
        var rounds = 0
        while !pending.isEmpty, rounds <= Self.maximumDepth {
            pending = try settle(pending)
            rounds += 1
        }
    }

    /// Gives the defaults that may change again.
    private func settle(
        _ pending: [(place: DefaultPlace, position: Int)]
    ) throws(TypeError) -> [(place: DefaultPlace, position: Int)] {
        var again: [(place: DefaultPlace, position: Int)] = []
        var first = pending.startIndex
        while first < pending.endIndex {
            // A type's defaults stand behind one another: it is made anew once for all of them.
            let name = pending[first].place.type
            let end = pending[first...].firstIndex { $0.place.type != name } ?? pending.endIndex
            var type = DefaultedType(table.form(named: name))
            for (place, position) in pending[first..<end] {
                let hasChanged = try located(at: position) { () throws(TypeError) in try type.settle(place) }
                if hasChanged { again.append((place, position)) }
            }
            if let form = try type.form() { table.settle(name, form) }
            first = end
        }
        return again
    }
}

/// A struct or enum some of whose defaults get another form.
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

    /// Says whether the default is another one now, and one that may change again: it has parts.
    mutating func settle(_ place: TypeParser.DefaultPlace) throws(TypeError) -> Bool {
        guard let field = structure(place.part)?.fields[place.field], let value = field.defaultValue else {
            return false
        }
        let settled = try field.type.normalized(value)
        guard settled != value else { return false }
        changes[place.part ?? 0, default: [:]][place.field] = settled
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
            return .variant(try VariantType(name: variant.name, cases: cases))
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
    /// The struct with other defaults for the fields of some numbers.
    func replacing(defaults: [Int: PropertyList]) throws(TypeError) -> StructureType {
        guard !defaults.isEmpty else { return self }
        return try StructureType(
            name: name,
            fields: fields.enumerated().map { number, field in
                Field(
                    name: field.name, key: field.key, type: field.type, default: defaults[number] ?? field.defaultValue,
                    isTransient: field.isTransient)
            })
    }
}
