internal import PropertyLists

extension CodableType {
    /// What a type says of each entry of a dictionary: a struct of the keys that it stores, `[String: T]` of every key.
    package struct Entries: Sendable {
        fileprivate var types: [[UInt8]: CodableType] = [:]
        fileprivate var others: CodableType?

        /// The type of the value of a key; nil for a key of which nothing is said.
        package subscript(key: String) -> CodableType? { types[Array(key.utf8)] ?? others }
    }

    /// - Throws: ``TypeError`` for a type that is no struct and no dictionary, or of whose keys nothing is known.
    package func entries() throws(TypeError) -> Entries { try entries(of: form) }

    private func entries(of form: Form) throws(TypeError) -> Entries {
        switch form {
        case .dictionary(let value): return Entries(others: CodableType(value, in: table))
        case .defaulted(let wrapped, _), .optional(let wrapped): return try entries(of: wrapped)
        case .reference(let reference): return try entries(of: try reference.resolved())
        case .structure(let structure):
            let types = structure.stored.map { ($0.key, CodableType($0.field.type, in: table)) }
            return Entries(types: Dictionary(types) { first, _ in first })
        default:
            throw TypeError(.description, "Expected a struct or a dictionary as a store's schema", ", found \(form)")
        }
    }
}
