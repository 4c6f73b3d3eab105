internal import KeyValueCoding
internal import PropertyLists

/// A registered Swift type: what decodes and encodes its values, and what is known of it. Immutable.
final class SwiftType: Sendable, Equatable {
    /// What a value became by decoding and encoding it.
    struct Passed {
        var list: PropertyList
        /// The keys that the decoding asked for.
        var known: KeyRecord
    }

    let name: String
    /// The names of fields for programs, by their keys; what is not in it has the same name.
    let names: [String: String]
    let keys: [String: String]
    /// What an example encodes to; nil for a type without one.
    let example: PropertyList?
    /// What decoding the example asked for.
    let exampleKeys: KeyRecord?
    private let pass: @Sendable (PropertyList) throws -> Passed

    init<T: Codable & SendableMetatype>(_ type: T.Type, _ registration: TypeRegistry.Registration<T>) throws {
        name = registration.name
        names = registration.names
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
                throw TypeError(.mismatch, "Expected \(name)", ", found nil")
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
    func passed(_ value: PropertyList) throws(TypeError) -> Passed {
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

    /// The stored form of a value, with what the type does not know of `stored`.
    func encode(_ value: PropertyList, over stored: PropertyList?) throws(TypeError) -> CodableType.Encoded {
        let value = try renamed(value, keys)
        let new = try passed(value)
        try checkFields(of: value, new)
        guard let stored, let old = try? passed(stored) else {
            return CodableType.Encoded(list: new.list, droppedElements: 0)
        }
        var merge = KnownKeyMerge()
        let list = try merge.merge(new.list, over: stored, oldForm: old.list, known: old.known)
        return CodableType.Encoded(list: list, droppedElements: merge.droppedElements)
    }

    /// The keys of the value's dictionary that some code of the type asked for or writes.
    private func knownKeys(_ passed: Passed) -> Set<String> {
        passed.known.asked.union(passed.list.keys).union(exampleKeys?.asked ?? []).union(example?.keys ?? [])
    }

    /// A key that is neither asked for nor written is a mistake, or would be lost.
    private func checkFields(of value: PropertyList, _ passed: Passed) throws(TypeError) {
        guard value.kind == .dictionary, !passed.known.asksAll else { return }
        let known = knownKeys(passed)
        guard let key = value.keys.first(where: { !known.contains($0) }) else { return }
        let fields = known.map { names[$0] ?? $0 }.sorted()
        let meant = closest(to: names[key] ?? key, among: fields).map { "; did you mean \($0)?" } ?? ""
        throw TypeError(.unknownField, name, " has no field \(names[key] ?? key)\(meant)")
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

/// Puts what a Swift type did not ask for back into what it encodes to.
struct KnownKeyMerge {
    private(set) var droppedElements = 0

    /// - Parameters:
    ///   - oldForm: what `stored` becomes by decoding and encoding it, by which elements of arrays are matched.
    ///   - known: what decoding `stored` asked for.
    mutating func merge(
        _ new: PropertyList, over stored: PropertyList, oldForm: PropertyList?, known: KeyRecord
    ) throws(TypeError) -> PropertyList {
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try write(new, over: stored, oldForm, known, to: &builder)
        return try finish(&builder)
    }

    /// Recursion is bounded by the depth of the documents.
    private mutating func write(
        _ new: PropertyList, over stored: PropertyList, _ oldForm: PropertyList?, _ known: KeyRecord?,
        to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        guard let known, new.kind == stored.kind else { return try builder.add(.same, of: new) }
        switch new.kind {
        case .dictionary: try writeDictionary(new, over: stored, oldForm, known, to: &builder)
        case .array: try writeArray(new, over: stored, oldForm, known.elements, to: &builder)
        default: try builder.add(.same, of: new)
        }
    }

    private mutating func writeDictionary(
        _ new: PropertyList, over stored: PropertyList, _ oldForm: PropertyList?, _ known: KeyRecord,
        to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        try builder.adding { builder throws(PropertyListError) in try builder.beginDictionary() }
        for (key, value) in new.entries {
            try builder.adding { builder throws(PropertyListError) in try builder.key(key) }
            if let old = stored[key] {
                try write(value, over: old, oldForm?[key], known.children[key], to: &builder)
            } else {
                try builder.add(.same, of: value)
            }
        }
        // A key that decoding and encoding bring out again is known, though nobody asked for it by name.
        for (key, old) in stored.entries
        where !known.asksAll && !known.asked.contains(key) && new[key] == nil && oldForm?[key] == nil {
            try builder.adding { builder throws(PropertyListError) in try builder.key(key) }
            try builder.add(.same, of: old)
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }

    private mutating func writeArray(
        _ new: PropertyList, over stored: PropertyList, _ oldForm: PropertyList?, _ known: KeyRecord?,
        to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        guard let known, let oldForm, oldForm.kind == .array, oldForm.count == stored.count else {
            return try builder.add(.same, of: new)
        }
        let old = Array(stored.elements)
        let forms = Array(oldForm.elements)
        let matching = ArrayMatching(old: old, new: Array(new.elements), known: forms)
        droppedElements += matching.dropped
        try builder.adding { builder throws(PropertyListError) in try builder.beginArray() }
        for (index, value) in new.elements.enumerated() {
            if let match = matching.sources[index] {
                try write(value, over: old[match], forms[match], known, to: &builder)
            } else {
                try builder.add(.same, of: value)
            }
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }
}
