public import PropertyLists

// The defaults of types, without the secrets that tools never show.
extension CodableType.Member {
    /// The default, where a tool may show it: nil for a secret's, for one with a secret in it, and where there is none.
    ///
    /// ```swift
    /// let settings = try TypeRegistry().schema("root S struct S { volume: Int = 7; key: String = \"abc\" @secret }")
    /// print(settings.members.map { $0.shownDefault != nil })  // [true, false]
    /// ```
    public var shownDefault: PropertyList? { words.isSecret ? nil : defaultValue.flatMap(type.form.shown) }
}

extension CodableType.Form {
    /// A default in the program form; nil for one that holds a secret.
    func shown(_ value: PropertyList) -> PropertyList? { holdsSecret(value) ? nil : value }

    /// Whether there is a secret in a value in the program form. Recursion is bounded by the depth of values.
    fileprivate func holdsSecret(_ value: PropertyList) -> Bool {
        if words.isSecret { return true }
        switch resolved {
        case .optional(let wrapped), .defaulted(let wrapped, _): return wrapped.holdsSecret(value)
        case .array(let element, _): return value.elements.contains { element.holdsSecret($0) }
        case .dictionary(let element): return value.entries.contains { element.holdsSecret($0.value) }
        case .structure(let structure): return structure.holdsSecret(value)
        case .swift(let type): return type.described?.holdsSecret(value) ?? false
        case .variant(let variant):
            return variant.cases.contains { one in
                value[one.name].map { one.values.words.isSecret || one.values.holdsSecret($0) } ?? false
            }
        case .scalar, .any, .enumeration, .reference: return false
        }
    }
}

extension StructureType {
    fileprivate func holdsSecret(_ value: PropertyList) -> Bool {
        fields.contains { field in
            value[field.name].map { field.words.isSecret || field.type.holdsSecret($0) } ?? false
        }
    }
}
