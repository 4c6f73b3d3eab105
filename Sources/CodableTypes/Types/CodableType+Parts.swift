public import PropertyLists

extension CodableType {
    /// The type of the value at a path inside a value of this type; the path names keys as they are stored. A field's
    /// type has the field's default.
    ///
    /// ```swift
    /// let settings = try TypeRegistry().declare("struct Settings { volume: Int = 7 }")
    /// print(settings[0].type(at: ["volume"])?.defaultValue ?? "none")  // 7
    /// ```
    ///
    /// - Returns: nil for a path of which the type says nothing: to a key that a struct does not declare, or into a
    ///   scalar, Any or a Swift type.
    public func type(at path: PropertyListPath) -> CodableType? {
        var part = TypePart(form: form)
        for step in path.steps {
            guard let inner = part.form.part(at: step) else { return nil }
            part = inner
        }
        guard let value = part.field?.defaultValue else { return CodableType(part.form, in: table) }
        return CodableType(.defaulted(part.form, value), in: table)
    }

    /// Whether the value at a path of stored keys is an enum with associated values: two cases are never merged.
    package func isVariant(at path: PropertyListPath) -> Bool {
        var form = form
        for step in path.steps {
            guard let part = form.part(at: step) else { return false }
            form = part.form
        }
        return form.isVariant
    }
}

extension CodableType {
    /// Whether a value of the type is a struct.
    package var isStructure: Bool { form.structure != nil }

    /// Whether a value is an enum's case with its values, a dictionary that is one value.
    package var isVariant: Bool { form.isVariant }

    /// Whether a value may be absent.
    package var isOptional: Bool { form.isOptional }

    /// Whether the value at a path is optional and has a default, which shows where nothing is stored.
    package func hasOptionalDefault(at path: PropertyListPath) -> Bool {
        guard let type = type(at: path), type.isOptional, case .defaulted = type.form else { return false }
        return true
    }
}

/// A part of a type: a struct's field, the values of a case, the elements of an array or the values of a dictionary.
struct TypePart {
    let form: CodableType.Form
    /// The struct that the field is of, and the field's number among those that are stored.
    var owner: StructureType?
    var number = 0

    var field: StructureType.Field? { owner.flatMap { number < 0 ? nil : $0.stored[number].field } }
}

extension CodableType.Form {
    /// The part of a stored value that a step leads to; nil where the type says nothing of it.
    func part(at step: PropertyListPath.Step) -> TypePart? {
        switch (self, step) {
        case (.optional(let wrapped), _), (.defaulted(let wrapped, _), _): return wrapped.part(at: step)
        case (.reference(let reference), _): return (try? reference.resolved())?.part(at: step)
        case (.array(let element, _), .index): return TypePart(form: element)
        case (.dictionary(let value), .key): return TypePart(form: value)
        case (.structure(let structure), .key(let key)):
            guard let number = structure.number(ofStoredKey: key) else { return nil }
            return TypePart(form: structure.stored[number].field.type, owner: structure, number: number)
        case (.variant(let variant), .key(let key)):
            return variant.values(ofCase: key).map { TypePart(form: .structure($0), owner: $0, number: -1) }
        default: return nil
        }
    }

    /// Whether a value is an enum's case with its values.
    var isVariant: Bool {
        switch self {
        case .defaulted(let wrapped, _), .optional(let wrapped): wrapped.isVariant
        case .reference(let reference): (try? reference.resolved())?.isVariant ?? false
        case .variant: true
        default: false
        }
    }

    /// The struct that the type is, by whatever name; nil for another type.
    var structure: StructureType? {
        switch self {
        case .defaulted(let wrapped, _), .optional(let wrapped): wrapped.structure
        case .reference(let reference): (try? reference.resolved())?.structure
        case .structure(let structure): structure
        default: nil
        }
    }
}

extension StructureType {
    /// The number of the field that is stored under the key, in the order of keys.
    func number(ofStoredKey key: String) -> Int? {
        var key = key
        return key.withUTF8 { wanted in
            var (low, high) = (0, stored.count)
            while low < high {
                let middle = low + (high - low) / 2
                let order = stored[middle].key.withUnsafeBufferPointer { compareBytes($0, wanted) }
                if order == 0 { return middle }
                if order < 0 { low = middle + 1 } else { high = middle }
            }
            return nil
        }
    }
}
