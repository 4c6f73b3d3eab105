internal import PropertyLists

/// A declared struct. Immutable.
final class StructureType: Sendable, Equatable {
    final class Field: Sendable {
        /// The name that programs and scripts see.
        let name: String
        /// The key in the file.
        let key: String
        let type: CodableType.Form
        let defaultValue: PropertyList?
        /// Whether the field is never stored.
        let isTransient: Bool
        let isOptional: Bool
        /// Whether the key is not the name, byte for byte.
        fileprivate let hasOwnKey: Bool
        let words: TypeWords

        init(
            name: String, key: String?, type: CodableType.Form, default defaultValue: PropertyList?, isTransient: Bool,
            words: TypeWords = TypeWords()
        ) {
            self.name = name
            self.key = key ?? name
            hasOwnKey = key.map { !$0.utf8.elementsEqual(name.utf8) } ?? false
            self.type = type
            self.defaultValue = defaultValue
            self.isTransient = isTransient
            self.words = words
            isOptional = if case .optional = type { true } else { false }
        }

        /// Whether the fields are the same but for their types.
        func isSame(as other: Field) -> Bool {
            name == other.name && key == other.key && isTransient == other.isTransient
                && isOptional == other.isOptional && defaultValue == other.defaultValue
        }

        /// Whether a value of the struct may lack the field.
        var mayBeAbsent: Bool { isOptional || defaultValue != nil || isTransient }
    }

    let name: String
    /// In the order of their declaration.
    let fields: [Field]
    /// The fields that are stored, in the order of their keys' bytes: each one's index in `fields`, and its key as bytes.
    let stored: [(field: Field, index: Int, key: [UInt8])]
    /// The indexes of fields in `fields`, by their names' bytes.
    private let indexes: [[UInt8]: Int]
    /// Whether a value in which every field is there has the same keys in both forms.
    let keepsNames: Bool
    let words: TypeWords

    init(name: String, fields: [Field], words: TypeWords = TypeWords()) throws(TypeError) {
        self.name = name
        self.words = words
        self.fields = fields
        // One array for each text, however often it occurs: names may be long, and fields many.
        let bytes = fields.map { Array($0.name.utf8) }
        let keys = zip(fields, bytes).map { $0.hasOwnKey ? Array($0.key.utf8) : $1 }
        stored = zip(fields, 0...).map { ($0, $1, keys[$1]) }.filter { !$0.0.isTransient }
            .sorted { $0.2.lexicographicallyPrecedes($1.2) }
        indexes = Dictionary(bytes.enumerated().map { ($1, $0) }) { first, _ in first }
        keepsNames = fields.allSatisfy { !$0.hasOwnKey && !$0.isTransient }
        if let name = Self.repeated(bytes.sorted { $0.lexicographicallyPrecedes($1) }) {
            throw TypeError(.description, "Struct \(self.name) declares two fields \(name)")
        }
        if let key = Self.repeated(stored.map(\.key)) {
            throw TypeError(.description, "Struct \(self.name) stores two fields under the key \(key)")
        }
    }

    private static func repeated(_ texts: [[UInt8]]) -> String? {
        zip(texts, texts.dropFirst()).first { $0 == $1 }.map { String(decoding: $0.0, as: UTF8.self) }
    }

    static func == (left: StructureType, right: StructureType) -> Bool {
        FormComparison.areEqual(.structure(left), .structure(right))
    }

    func field(named name: String) -> Field? { indexes[Array(name.utf8)].map { fields[$0] } }
}

/// A declared enum with raw values: a string or an integer out of a list. Immutable.
final class EnumerationType: Sendable, Equatable {
    struct Case: Sendable, Equatable {
        let name: String
        let rawValue: PropertyList
        var words = TypeWords()

        static func == (left: Case, right: Case) -> Bool {
            left.name == right.name && left.rawValue == right.rawValue
        }

        fileprivate var isItsRawValue: Bool { rawValue.withBytes { $0.elementsEqual(name.utf8) } ?? false }
    }

    let name: String
    let isInteger: Bool
    let cases: [Case]
    let words: TypeWords
    private let texts: Set<[UInt8]>
    private let numbers: Set<Int64>

    init(name: String, isInteger: Bool, cases: [Case], words: TypeWords = TypeWords()) throws(TypeError) {
        self.name = name
        self.words = words
        self.isInteger = isInteger
        self.cases = cases
        if cases.isEmpty { throw TypeError(.description, "Enum \(name) has no cases") }
        var texts = Set<[UInt8]>(minimumCapacity: isInteger ? 0 : cases.count)
        var numbers = Set<Int64>(minimumCapacity: isInteger ? cases.count : 0)
        // A name that is its own raw value is found twice with it, but it may be another one's raw value.
        var names = Set<[UInt8]>()
        let areRaw = cases.allSatisfy(\.isItsRawValue)
        for one in cases {
            let isNew =
                one.rawValue.withBytes { texts.insert([UInt8]($0)).inserted }
                ?? one.rawValue.integer.map { numbers.insert($0).inserted } ?? true
            guard isNew, areRaw || names.insert(Array(one.name.utf8)).inserted else {
                throw TypeError(.description, "Enum \(name) declares \(one.name) twice")
            }
        }
        (self.texts, self.numbers) = (texts, numbers)
    }

    static func == (left: EnumerationType, right: EnumerationType) -> Bool {
        left === right || left.name == right.name && left.cases == right.cases
    }

    /// Checks that the value is one of the raw values.
    func form(of value: PropertyList) throws(TypeError) -> ScalarForm {
        let form = try scalarForm(of: value)
        if case .integer(let number) = form {
            if numbers.contains(number) { return form }
        } else if value.integer.map({ numbers.contains($0) }) ?? texts.contains(Array((value.string ?? "").utf8)) {
            return form
        }
        // Swift's own words for a raw value that no case has.
        let raw = isInteger ? "Int value \(wholeNumber(value))" : "String value \(shown(value.string ?? ""))"
        throw TypeError(.mismatch, "Cannot initialize \(name) from invalid \(raw)")
            .plainly(choice, found: isInteger ? wholeNumber(value) : suggestion(for: value.string ?? ""))
    }

    private func scalarForm(of value: PropertyList) throws(TypeError) -> ScalarForm {
        do throws(TypeError) {
            return try ScalarType(kind: isInteger ? .int : .string).form(of: value)
        } catch {
            throw error.plainly(choice, found: found(value))
        }
    }

    /// A value of another kind than the raw values, of which a script's author may have written a case's name.
    private func found(_ value: PropertyList) -> String {
        guard let text = value.string else { return value.number == nil ? value.kind.description : "\(value)" }
        let meant = cases.first { $0.name == text }.map { "; did you mean \($0.rawValue)?" }
        return "\"\(shown(text))\"\(meant ?? "")"
    }

    /// The raw values, as a file and a script have them: `compact or wide`. Of many the first few.
    private var choice: String {
        let values = cases.prefix(12).map { $0.rawValue.string ?? "\($0.rawValue)" }
        if cases.count > 12 { return "\(values.joined(separator: ", ")) or one of \(cases.count - 12) more" }
        guard let last = values.last, values.count > 1 else { return values.joined() }
        return "\(values.dropLast().joined(separator: ", ")) or \(last)"
    }

    private func suggestion(for text: String) -> String {
        let meant = closest(to: text, among: cases.compactMap(\.rawValue.string)).map { "; did you mean \($0)?" }
        return "\"\(shown(text))\"\(meant ?? "")"
    }

    private func wholeNumber(_ value: PropertyList) -> String {
        (value.integer ?? value.real.flatMap { Int64(exactly: $0) }).map(String.init) ?? ""
    }
}
