internal import PropertyLists

/// A declared enum whose cases have associated values. Immutable.
///
/// A value is coded as Codable codes such an enum: a dictionary with one entry, whose key is the case and whose value
/// is a dictionary of the associated values by their labels, `_0`, `_1` … for those without.
final class VariantType: Sendable, Equatable {
    struct Case: Sendable {
        let name: String
        /// The associated values as fields; its words are the case's.
        let values: StructureType
    }

    let name: String
    /// In the order of their declaration.
    let cases: [Case]
    /// The cases in the order of their names' bytes, and each name as bytes.
    let sorted: [(values: StructureType, key: [UInt8])]
    let words: TypeWords
    private let indices: [[UInt8]: Int]

    init(name: String, cases: [Case], words: TypeWords = TypeWords()) throws(TypeError) {
        self.name = name
        self.words = words
        self.cases = cases
        if cases.isEmpty { throw TypeError(.description, "Enum \(name) has no cases") }
        var indices: [[UInt8]: Int] = [:]
        for (index, one) in cases.enumerated() {
            guard indices.updateValue(index, forKey: Array(one.name.utf8)) == nil else {
                throw TypeError(.description, "Enum \(name) declares \(one.name) twice")
            }
        }
        self.indices = indices
        sorted = cases.map { ($0.values, Array($0.name.utf8)) }.sorted { $0.1.lexicographicallyPrecedes($1.1) }
    }

    static func == (left: VariantType, right: VariantType) -> Bool {
        FormComparison.areEqual(.variant(left), .variant(right))
    }

    func values(ofCase name: String) -> StructureType? { indices[Array(name.utf8)].map { cases[$0].values } }

    /// The key of an associated value without a label.
    static func key(ofValue index: Int) -> String { "_\(index)" }

    /// Swift's own words for a dictionary that has not one case.
    ///
    /// - Parameter only: the one key that is there, where it is no case.
    func wrongCount(_ count: Int, only: String? = nil) -> TypeError {
        let meant = only.flatMap { closest(to: $0, among: cases.map(\.name)) }.map { "; did you mean \($0)?" }
        return TypeError(.mismatch, "Invalid number of keys found, expected one")
            .plainly("one key of \(choice)", found: only.map { "\(shown($0))\(meant ?? "")" } ?? "\(count)")
    }

    /// The error of a key that is no case.
    func unknownCase(_ given: String) -> TypeError {
        let meant = closest(to: given, among: cases.map(\.name)).map { "did you mean \($0)?" }
        let advice = meant ?? "expected \(choice)"
        return TypeError(.unknownField, ErrorWords(fault: name, ending: " has no case \(shown(given)); \(advice)"))
    }

    /// The error of a value that is no dictionary, such as the bare name of a case without values.
    func wrongKind(_ value: PropertyList) -> TypeError {
        let meant = value.string.flatMap { values(ofCase: $0) == nil ? nil : "; did you mean {\"\($0)\": {}}?" }
        let other = value.number == nil ? "\(value.kind)" : "\(value)"
        let given = value.string.map { "\"\(shown($0))\"" } ?? (value.isNil ? "nil" : other)
        return .mismatch("Dictionary<String, Any>", value)
            .plainly("a dictionary with one key of \(choice)", found: given + (meant ?? ""))
    }

    /// The names of the cases. Of many the first few.
    private var choice: String {
        let names = cases.prefix(12).map(\.name).joined(separator: ", ")
        return cases.count > 12 ? "\(names) or one of \(cases.count - 12) more" : names
    }
}
