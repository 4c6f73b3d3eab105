internal import PropertyLists

/// Structs and enums.
extension TypeDescription {
    func structure(
        _ description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> CodableType.Form {
        let name = try named(description, at: path)
        // The name of a struct around this one means that one: how a struct contains itself.
        if table.isAnnounced(name) { return .reference(table.reference(to: name)) }
        table.announce(name)
        let (fields, places) = try fields("fields", of: description, at: path)
        return try placed(at: path) { () throws(TypeError) in
            let structure = try StructureType(name: name, fields: fields)
            try table.declare(name, .structure(structure))
            // Now that the name means something, defaults can be checked that hold values of the struct itself.
            let settled = CodableType.Form.structure(try settled(structure, places))
            table.settle(name, settled)
            return settled
        }
    }

    /// Fields with their defaults as they are given, and where each is described.
    private func fields(
        _ key: String, of description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> ([StructureType.Field], [PropertyListPath]) {
        var fields: [StructureType.Field] = []
        var places: [PropertyListPath] = []
        for (index, field) in try elements(key, of: description, at: path).enumerated() {
            places.append([.key(key), .index(index)])
            fields.append(try self.field(field, number: index, at: path.appending([.key(key), .index(index)])))
        }
        return (fields, places)
    }

    /// The struct with its defaults checked, and in the form that their types give them.
    private func settled(
        _ structure: StructureType, _ places: [PropertyListPath]
    ) throws(TypeError) -> StructureType {
        var defaults: [Int: PropertyList] = [:]
        for (number, field) in structure.fields.enumerated() {
            guard let value = field.defaultValue else { continue }
            defaults[number] = try placed(at: places[number].appending(.key("default"))) { () throws(TypeError) in
                do throws(TypeError) {
                    return try field.type.normalized(value)
                } catch {
                    // Of a struct around this one, which is not finished: checked where the value is used.
                    if error.code == .unknownType { return value.compacted() }
                    throw error
                }
            }
        }
        return try structure.replacing(defaults: defaults)
    }

    /// - Parameter number: what an associated value without a name is called by.
    private func field(
        _ description: PropertyList, number: Int, at path: PropertyListPath
    ) throws(TypeError) -> StructureType.Field {
        let isNamed = path.steps.dropLast().last == .key("fields") || description["name"] != nil
        let name = try isNamed ? text("name", of: description, at: path) : VariantType.key(ofValue: number)
        let key = description["key"] == nil ? nil : try text("key", of: description, at: path)
        return StructureType.Field(
            name: name, key: key, type: try part("type", of: description, at: path), default: description["default"],
            isTransient: description["transient"]?.boolean ?? false)
    }

    func enumeration(
        _ description: PropertyList, at path: PropertyListPath
    ) throws(TypeError) -> CodableType.Form {
        guard description["raw"] != nil else { return try variant(description, at: path) }
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

    private func variant(_ description: PropertyList, at path: PropertyListPath) throws(TypeError) -> CodableType.Form {
        let name = try named(description, at: path)
        if table.isAnnounced(name) { return .reference(table.reference(to: name)) }
        table.announce(name)
        var cases: [(VariantType.Case, [PropertyListPath])] = []
        for (index, one) in try elements("cases", of: description, at: path).enumerated() {
            let place = path.appending(["cases", .index(index)])
            let caseName = try text("name", of: one, at: place)
            let (fields, places) = one["values"] == nil ? ([], []) : try fields("values", of: one, at: place)
            let values = try placed(at: place) { () throws(TypeError) in
                try StructureType(name: "\(name).\(caseName)", fields: fields)
            }
            cases.append((VariantType.Case(name: caseName, values: values), places))
        }
        return try placed(at: path) { () throws(TypeError) in
            try table.declare(name, .variant(try VariantType(name: name, cases: cases.map(\.0))))
            var settled: [VariantType.Case] = []
            for (index, (one, places)) in cases.enumerated() {
                let values = try placed(at: ["cases", .index(index)]) { () throws(TypeError) in
                    try self.settled(one.values, places)
                }
                settled.append(VariantType.Case(name: one.name, values: values))
            }
            let form = CodableType.Form.variant(try VariantType(name: name, cases: settled))
            table.settle(name, form)
            return form
        }
    }
}
