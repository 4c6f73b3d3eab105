public import PropertyLists

// The parts of a type, for tools that show or ask for its values.
extension CodableType {
    /// A field of a struct.
    ///
    /// ```swift
    /// let settings = try TypeRegistry().schema("root S struct S { volume: Int(0...10) = 7; title: String? @key(t) }")
    /// for member in settings.members { print(member.key, member.type) }  // volume Int(0...10), t String?
    /// ```
    public struct Member: Sendable {
        /// The name that programs see.
        public let name: String
        /// The key in the file.
        public let key: String
        /// The field's type.
        public let type: CodableType
        /// The value where none is stored, in the program form; nil for a field without a default.
        public let defaultValue: PropertyList?
        /// Whether a value may lack the field.
        public let mayBeAbsent: Bool
        /// The field's words, and where it has none, those of its type.
        public let words: TypeWords
    }

    /// A case of an enum.
    ///
    /// ```swift
    /// let theme = try TypeRegistry().declare("enum Theme: String { light, dark = \"DARK\" }")[0]
    /// print(theme.cases.compactMap { $0.rawValue?.string })  // ["light", "DARK"]
    /// ```
    public struct Case: Sendable {
        /// The name in the type's declaration.
        public let name: String
        /// The value in the file; nil for a case of an enum with associated values, whose name is the key.
        public let rawValue: PropertyList?
        /// The associated values.
        public let members: [Member]
        /// The case's words.
        public let words: TypeWords
    }

    /// The fields of a struct that are stored, in the order of their declaration; of a registered Swift type those that
    /// its example shows. Also of an optional struct; none for any other type.
    public var members: [Member] {
        structure.map(members) ?? []
    }

    /// The cases of an enum, in the order of their declaration; also of an optional one; none for any other type.
    public var cases: [Case] {
        switch form.resolved {
        case .enumeration(let enumeration):
            enumeration.cases.map { Case(name: $0.name, rawValue: $0.rawValue, members: [], words: $0.words) }
        case .variant(let variant):
            variant.cases.map { one in
                Case(name: one.name, rawValue: nil, members: members(of: one.values), words: one.values.words)
            }
        case .optional(let wrapped), .defaulted(let wrapped, _): CodableType(wrapped, in: table).cases
        default: []
        }
    }

    /// The type of an array's elements, or of a dictionary's values; also of an optional one; nil for any other type.
    public var element: CodableType? {
        switch form.resolved {
        case .array(let element, _), .dictionary(let element): CodableType(element, in: table)
        case .optional(let wrapped), .defaulted(let wrapped, _): CodableType(wrapped, in: table).element
        default: nil
        }
    }

    /// The type without the optional around it; of a name its meaning.
    public var wrapped: CodableType {
        switch form.resolved {
        case .optional(let wrapped), .defaulted(let wrapped, _): CodableType(wrapped, in: table).wrapped
        default: CodableType(form.resolved, in: table)
        }
    }

    /// The field or the element at a path of stored keys, with its type, default and words; nil where the type knows
    /// none. The empty path is the value itself.
    ///
    /// Of an element, and of the value itself, `name` and `key` are empty.
    public func member(at path: PropertyListPath) -> Member? {
        var found = Member(
            name: "", key: "", type: self, defaultValue: defaultValue, mayBeAbsent: false, words: words)
        for step in path.steps {
            guard let next = found.type.member(step) else { return nil }
            found = next.inside(found)
        }
        return found
    }

    private func member(_ step: PropertyListPath.Step) -> Member? {
        let isKey = if case .key = step { true } else { false }
        if case .key(let key) = step, let structure, let number = structure.number(ofStoredKey: key) {
            return member(structure.stored[number].field)
        }
        if case .key(let key) = step, case .variant(let variant) = wrapped.form,
            let values = variant.values(ofCase: key)
        {
            return element(CodableType(.structure(values), in: table))
        }
        if case .any = wrapped.form { return element(wrapped) }
        guard let element, isKey == isDictionary else { return nil }
        return self.element(element)
    }

    /// The struct that the type is, or that a registered Swift type's example shows.
    private var structure: StructureType? {
        switch form.resolved {
        case .structure(let structure): structure
        case .swift(let type): type.described
        case .optional(let wrapped), .defaulted(let wrapped, _): CodableType(wrapped, in: table).structure
        default: nil
        }
    }

    private var isDictionary: Bool { if case .dictionary = wrapped.form { true } else { false } }

    private func element(_ type: CodableType) -> Member {
        Member(name: "", key: "", type: type, defaultValue: nil, mayBeAbsent: true, words: type.words)
    }

    private func members(of structure: StructureType) -> [Member] {
        structure.fields.filter { !$0.isTransient }.map(member)
    }

    private func member(_ field: StructureType.Field) -> Member {
        Member(
            name: field.name, key: field.key, type: CodableType(field.type, in: table),
            defaultValue: field.defaultValue, mayBeAbsent: field.mayBeAbsent, words: field.shownWords)
    }
}

extension CodableType.Member {
    /// The member as a part of `outer`: the parts of a secret are secrets.
    fileprivate func inside(_ outer: Self) -> Self {
        var words = words
        words.isSecret = words.isSecret || outer.words.isSecret
        return Self(
            name: name, key: key, type: type, defaultValue: defaultValue, mayBeAbsent: mayBeAbsent, words: words)
    }
}
