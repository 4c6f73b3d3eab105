internal import KeyValueCoding
internal import PropertyLists

/// A registered Swift type: the code for its values, the names of its fields, its example. Immutable.
final class SwiftType: Sendable, Equatable {
    /// A value after decoding and encoding it.
    struct Passed {
        var list: PropertyList
        /// The keys that the decoding asked for.
        var known: KeyRecord
    }

    let name: String
    /// The names of fields for programs, by their keys; a key that is not in it is its own name.
    let names: [String: String]
    let keys: [String: String]
    let words: TypeWords
    /// The words of fields, by their keys.
    let fieldWords: [String: TypeWords]
    /// The encoded example; nil for a type without one.
    let example: PropertyList?
    /// The keys that decoding the example asked for.
    let exampleKeys: KeyRecord?
    private let pass: @Sendable (PropertyList) throws -> Passed

    init<T: Codable & SendableMetatype>(_ type: T.Type, _ registration: TypeRegistry.Registration<T>) throws {
        name = registration.name
        names = registration.names
        words = registration.words
        fieldWords = registration.fieldWords
        keys = Dictionary(registration.names.map { ($1, $0) }) { first, _ in first }
        var decoder = KeyValueDecoder()
        decoder.userInfo = registration.userInfo
        decoder.nilDecodingStrategy = .stringNull
        var encoder = KeyValueEncoder()
        encoder.userInfo = registration.userInfo
        encoder.nilEncodingStrategy = .stringNull
        let pass = { @Sendable [decoder, encoder, name] (list: PropertyList) throws -> Passed in
            let known = KeyRecord()
            let value = try decoder.decode(T.self, from: list, recording: known)
            guard let list = try encoder.encodeToPropertyList(value) else {
                throw TypeError(.mismatch, .expected(name, found: "nil"))
            }
            return Passed(list: list, known: known)
        }
        self.pass = pass
        let encoded = try registration.example.flatMap { try encoder.encodeToPropertyList($0) }
        example = encoded
        exampleKeys = try encoded.map { list in try pass(list).known }
    }

    static func == (left: SwiftType, right: SwiftType) -> Bool { left === right }

    /// Decodes and encodes the value by the type's own code.
    fileprivate func passed(_ value: PropertyList) throws(TypeError) -> Passed {
        do {
            return try pass(value)
        } catch {
            throw TypeError(error)
        }
    }

    // MARK: - The two forms

    func decode(_ stored: PropertyList) throws(TypeError) -> PropertyList {
        try renamed(try passed(stored).list, names)
    }

    /// The stored form of a value.
    func encode(_ value: PropertyList) throws(TypeError) -> PropertyList {
        let value = try renamed(value, keys)
        let new = try passed(value)
        try checkFields(of: value, new)
        return new.list
    }

    /// The stored value without what the type does not know.
    func knownParts(of stored: PropertyList) throws(PropertyListError) -> PropertyList {
        let passed = try? passed(stored)
        return try stored.knownParts(
            form: passed?.list, record: passed?.known ?? exampleKeys, given: passed == nil ? example : nil)
    }

    /// The keys of the value's dictionary that some code of the type asked for or writes.
    private func knownKeys(_ passed: Passed) -> Set<PropertyListPath.Step> {
        passed.known.asked.union(exampleKeys?.asked ?? [])
            .union((passed.list.keys + (example?.keys ?? [])).lazy.map { .key($0) })
    }

    /// Throws for a key that is neither asked for nor written, which is a mistake, or would be lost.
    private func checkFields(of value: PropertyList, _ passed: Passed) throws(TypeError) {
        guard value.kind == .dictionary, !passed.known.asksAll else { return }
        let known = knownKeys(passed)
        guard let key = value.keys.first(where: { !known.contains(.key($0)) }) else { return }
        throw .unknownField(names[key] ?? key, of: name, among: Self.texts(known).map { names[$0] ?? $0 }.sorted())
    }

    static func texts(_ keys: Set<PropertyListPath.Step>) -> [String] {
        keys.compactMap { if case .key(let text) = $0 { text } else { nil } }
    }

    /// The dictionary with keys replaced; other values as they are.
    private func renamed(_ list: PropertyList, _ names: [String: String]) throws(TypeError) -> PropertyList {
        guard list.kind == .dictionary, !names.isEmpty else { return list }
        return try PropertyList.made { builder throws(PropertyListError) in
            try builder.beginDictionary()
            for (key, value) in list.entries {
                try builder.key(names[key] ?? key)
                try builder.append(value)
            }
            try builder.end()
        }
    }
}
