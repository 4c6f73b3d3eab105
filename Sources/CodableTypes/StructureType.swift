internal import PropertyLists

/// A declared struct.
///
/// `@unchecked Sendable`: it changes only by ``settle(_:)``, while the text or description that declares it is read and
/// one thread knows it.
final class StructureType: @unchecked Sendable, Equatable {
    /// A default that is checked once everything is declared: its type may stand further down.
    struct PendingDefault: Sendable {
        let value: PropertyList
        /// The place in the text, or the path in the description.
        let location: PropertyListError.Location?
        let path: PropertyListPath
    }

    struct Field: Sendable {
        /// What programs and scripts see.
        let name: String
        /// What the file has.
        let key: String
        let type: CodableType.Form
        fileprivate(set) var defaultValue: PropertyList?
        fileprivate(set) var pending: PendingDefault?
        /// Whether the field is never stored.
        let isTransient: Bool
        let isOptional: Bool

        init(
            name: String, key: String?, type: CodableType.Form, default defaultValue: PropertyList?,
            isTransient: Bool = false, pending: PendingDefault? = nil
        ) {
            self.name = name
            self.key = key ?? name
            if case .defaulted(let wrapped, let value) = type {
                self.type = wrapped
                self.defaultValue = defaultValue ?? value
            } else {
                self.type = type
                self.defaultValue = defaultValue
            }
            self.isTransient = isTransient
            self.pending = pending
            isOptional = self.type.isOptional
        }

        /// Whether the two are the same but for their types.
        func isSame(as other: Field) -> Bool {
            name == other.name && key == other.key && isTransient == other.isTransient
                && defaultValue == other.defaultValue && pending?.value == other.pending?.value
        }

        /// Whether a value of the struct may lack the field.
        var mayBeAbsent: Bool { isOptional || defaultValue != nil || isTransient }
    }

    let name: String
    /// In the order of their declaration.
    private(set) var fields: [Field]
    /// The fields that are stored, in the order of their keys' bytes, and each one's key as bytes.
    private(set) var stored: [(field: Field, key: [UInt8])] = []
    /// The fields that are never stored.
    private(set) var transientFields: [Field] = []
    /// All fields in the order of their names' bytes.
    private(set) var named: [(field: Field, key: [UInt8])] = []
    /// Whether a value in which every field is there has the same keys in both forms.
    let keepsNames: Bool
    /// How many structs stand in one another here, but for those that are referred to by name.
    let nesting: Int

    init(name: String, fields: [Field]) throws(TypeError) {
        self.name = name
        self.fields = fields
        nesting = 1 + (fields.map { $0.type.nesting }.max() ?? 0)
        keepsNames = fields.allSatisfy { $0.name == $0.key && !$0.isTransient }
        sort()
        if let name = Self.repeated(named.map(\.key)) {
            throw TypeError(.description, "Struct \(self.name) declares two fields \(name)")
        }
        if let key = Self.repeated(stored.map(\.key)) {
            throw TypeError(.description, "Struct \(self.name) stores two fields under the key \(key)")
        }
    }

    private func sort() {
        transientFields = fields.filter(\.isTransient)
        stored = Self.sorted(fields.filter { !$0.isTransient }.map { ($0, Array($0.key.utf8)) })
        named = Self.sorted(fields.map { ($0, Array($0.name.utf8)) })
    }

    var hasPendingDefaults: Bool { fields.contains { $0.pending != nil } }

    /// Gives the fields whose defaults were pending those that `normalized` makes of them.
    func settle(
        _ normalized: (CodableType.Form, PendingDefault) throws(TypeError) -> PropertyList
    ) throws(TypeError) {
        for index in fields.indices {
            guard let pending = fields[index].pending else { continue }
            fields[index].defaultValue = try normalized(fields[index].type, pending)
            fields[index].pending = nil
        }
        sort()
    }

    private static func sorted(_ entries: [(Field, [UInt8])]) -> [(Field, [UInt8])] {
        entries.sorted { $0.1.lexicographicallyPrecedes($1.1) }
    }

    private static func repeated(_ texts: [[UInt8]]) -> String? {
        zip(texts, texts.dropFirst()).first { $0 == $1 }.map { String(decoding: $0.0, as: UTF8.self) }
    }

    static func == (left: StructureType, right: StructureType) -> Bool {
        FormComparison.areEqual(left, right)
    }

    func field(named name: String) -> Field? { fields.first { $0.name == name } }
}

/// A declared enum: a string or an integer out of a list. Immutable.
final class EnumerationType: Sendable, Equatable {
    struct Case: Sendable, Equatable {
        let name: String
        let rawValue: PropertyList
    }

    let name: String
    let isInteger: Bool
    let cases: [Case]
    private let rawValues: Set<RawValue>

    private enum RawValue: Hashable {
        case integer(Int64)
        case text([UInt8])

        init(_ value: PropertyList) {
            self = value.integer.map { .integer($0) } ?? .text(value.withBytes { Array($0) } ?? [])
        }
    }

    init(name: String, isInteger: Bool, cases: [Case]) throws(TypeError) {
        self.name = name
        self.isInteger = isInteger
        self.cases = cases
        var names: Set<String> = []
        var values: Set<RawValue> = []
        for one in cases {
            guard names.insert(one.name).inserted, values.insert(RawValue(one.rawValue)).inserted else {
                throw TypeError(.description, "Enum \(name) declares \(one.name) twice")
            }
        }
        rawValues = values
        if cases.isEmpty { throw TypeError(.description, "Enum \(name) has no cases") }
    }

    static func == (left: EnumerationType, right: EnumerationType) -> Bool {
        left === right || left.name == right.name && left.cases == right.cases
    }

    /// Checks that the value is one of the raw values.
    func form(of value: PropertyList) throws(TypeError) -> ScalarForm {
        let scalar = ScalarType(kind: isInteger ? .int : .string)
        let form = try scalar.form(of: value)
        if case .integer(let number) = form {
            if rawValues.contains(.integer(number)) { return form }
        } else if value.kind != .unsigned, rawValues.contains(RawValue(value)) {
            return form
        }
        let found = isInteger ? wholeNumber(value) : "\"\(value.string ?? "")\""
        throw TypeError(.mismatch, "Expected \(expectation)", ", found \(found)")
    }

    private func wholeNumber(_ value: PropertyList) -> String {
        value.integer.map(String.init) ?? value.unsigned.map(String.init) ?? "\(value.number ?? 0)"
    }

    private var expectation: String {
        let values = cases.map { $0.rawValue.string ?? $0.rawValue.integer.map(String.init) ?? "" }
        guard let last = values.last, values.count > 1 else { return values.first ?? "" }
        return values.dropLast().joined(separator: ", ") + " or " + last
    }
}
