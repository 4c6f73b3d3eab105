internal import CKVCodable
internal import PropertyLists

/// The rules of a set, which accepts values that the store's file can hold: the same in every engine.
struct ValueRules: Sendable {
    var format: PropertyListFormat
    /// The most bytes of a key that has a row of its own; nil where all are one file.
    private let longestRowKey: Int?

    init(_ engine: any StorageEngine) {
        format = engine.format
        longestRowKey = engine.longestKey
    }

    /// - Throws: when the store could not hold `key` as one of its own.
    func check(
        ownKey key: UnsafeBufferPointer<UInt8>, at path: @autoclosure () -> PropertyListPath
    ) throws(DefaultsError) {
        if let longestRowKey, key.count > longestRowKey {
            let words = ErrorWords.expected("a key of at most \(longestRowKey) bytes", found: "one of \(key.count)")
            throw DefaultsError(.limitExceeded, words, at: path())
        }
        try check(key: key, at: path())
    }

    /// - Throws: when the file could not hold `key`.
    func check(
        key: UnsafeBufferPointer<UInt8>, at path: @autoclosure () -> PropertyListPath
    ) throws(DefaultsError) {
        guard key.count <= UInt32.max else {
            throw DefaultsError(.limitExceeded, "\(key.count) bytes are more than one key can hold")
        }
        if let words = unfit(text: key, "key") { throw DefaultsError(.invalidValue, words, at: path()) }
    }

    /// - Throws: the error of the first value inside `value` that the file could not hold, with its path below `path`.
    func check(_ value: PropertyList, at path: @autoclosure () -> PropertyListPath, depth: Int) throws(DefaultsError) {
        let limit = PropertyListLimits.store.depth
        // A value of n nodes is no deeper than n: small ones need no count.
        if depth + value.node.span > limit, depth + value.depth > limit {
            throw DefaultsError(.limitExceeded, "Deeper than \(limit) levels", at: path())
        }
        if let facts = value.document.facts, isFit(facts) { return }
        var walk = TreeWalk(of: value)
        while let event = walk.next() {
            guard let words = unfit(event, of: walk) else { continue }
            throw DefaultsError(.invalidValue, words, at: path().appending(walk.path))
        }
    }
}

extension ValueRules {
    /// Whether no value of such a document could be unfit.
    private func isFit(_ facts: DocumentFacts) -> Bool {
        if facts.hasUIDLikeDictionary || facts.contains(.null) || facts.contains(.date) { return false }
        switch format {
        case .xml: return facts.isPlainText
        case .json: return !facts.contains(.data) && !facts.contains(.real) && !facts.contains(.uid)
        default: return true
        }
    }

    /// Why the file could not hold what a walk came to; nil where it can.
    private func unfit(_ event: TreeWalk.Event, of walk: borrowing TreeWalk) -> ErrorWords? {
        let document = walk.document
        if let key = walk.key, let words = unfit(text: document.buffer(of: key), "key") { return words }
        switch event {
        case .value(let node): return unfit(node, of: document)
        case .begin(let node):
            guard node.kind == .dictionary, node.count == 1 else { return nil }
            let dictionary = PropertyList(document: document, index: walk.position)
            return dictionary[uidKey]?.integer == nil ? nil : uidMessage
        case .end: return nil
        }
    }

    private func unfit(_ node: kv_node, of document: Document) -> ErrorWords? {
        switch node.kind {
        case .null: return .wrong("A file cannot hold nil", advice: "remove the key instead")
        case .string: return unfit(text: document.buffer(of: node), "string")
        case .date: return unfit(date: Double(bitPattern: node.payload))
        case .data, .uid: return format == .json ? "JSON cannot hold \(node.kind)" : nil
        case .real:
            let value = Double(bitPattern: node.payload)
            return format == .json && !value.isFinite ? "JSON cannot hold \(value)" : nil
        case .boolean, .integer, .unsigned, .array, .dictionary: return nil
        }
    }

    private func unfit(date: Double) -> ErrorWords? {
        if format == .json { return "JSON cannot hold Date" }
        // The years 1 to 9999, which ISO 8601 has four digits for.
        if date >= -63_113_904_000, date < 252_423_993_600 { return nil }
        return .expected("a date of the years 1 to 9999", found: "\(date) seconds from 2001")
    }

    private func unfit(text: UnsafeBufferPointer<UInt8>, _ what: String) -> ErrorWords? {
        guard format == .xml, hasControl(text) else { return nil }
        return .wrong("XML cannot hold a control character in a \(what)", advice: "a binary store can")
    }
}

/// Whether a string holds a character that XML 1.0 cannot (section 2.2): a control other than tab, newline and
/// return, or U+FFFE or U+FFFF.
private func hasControl(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let base = bytes.baseAddress, !ByteSurvey(UnsafeRawBufferPointer(bytes)).isPlain else { return false }
    var position = 0
    while position < bytes.count {
        let byte = base[position]
        if byte < 0x20, byte != 9, byte != 10, byte != 13 { return true }
        if byte == 0xEF, position + 2 < bytes.count, base[position + 1] == 0xBF, base[position + 2] >= 0xBE {
            return true
        }
        position &+= 1
    }
    return false
}

/// The key by which XML marks a keyed archive's reference.
let uidKey = "CF$UID"
let uidMessage: ErrorWords = "A dictionary of nothing but an integer CF$UID would be read back as a UID"
