internal import CKVCodable
internal import PropertyLists

/// The rules of a set, which accepts values that the store's file can hold: the same in every engine.
struct ValueRules: Sendable {
    var format: PropertyListFormat
    /// The most bytes of a key that has a row of its own; nil where all are one file.
    fileprivate let longestRowKey: Int?

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

    /// - Throws: the error of the first value inside `value` that the file could not hold, with its path below `path`.
    func check(_ value: PropertyList, at path: @autoclosure () -> PropertyListPath, depth: Int) throws(DefaultsError) {
        let limit = PropertyListLimits.store.depth
        // A value of n nodes is no deeper than n: small ones need no count.
        if depth + value.node.span > limit, depth + value.depth > limit {
            throw DefaultsError(.limitExceeded, "Deeper than \(limit) levels", at: path())
        }
        if looksUnfit(value) {
            var walk = RuleWalk(format: format, path: path())
            try walk.visit(value)
        }
    }

    /// - Throws: when the file could not hold `key`.
    func check(
        key: UnsafeBufferPointer<UInt8>, at path: @autoclosure () -> PropertyListPath
    ) throws(DefaultsError) {
        guard key.count <= UInt32.max else {
            throw DefaultsError(.limitExceeded, "\(key.count) bytes are more than one key can hold")
        }
        if format == .xml, hasControl(key) {
            throw DefaultsError(.invalidValue, RuleWalk.controlMessage("key"), at: path())
        }
    }

    /// A quick look that may take a fit value for an unfit one, but not the other way. It goes from node to node and not
    /// into depth: arrays as deep as a store's may be are set from a thread with a small stack, too.
    private func looksUnfit(_ value: PropertyList) -> Bool {
        let document = value.document
        if let facts = document.facts, isFit(facts) { return false }
        let isXML = format == .xml
        for position in value.index..<(value.index + value.node.span) {
            let node = document.nodes[position]
            if node.hasBytes {
                if isXML, node.head != PropertyListKind.data.rawValue, hasControl(document.buffer(of: node)) {
                    return true
                }
                if format == .json, node.head == PropertyListKind.data.rawValue { return true }
                continue
            }
            switch node.kind {
            case .null, .date: return true
            case .dictionary: if node.count == 1 { return true }
            case .real, .uid: if format == .json { return true }
            default: break
            }
        }
        return false
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

/// The thorough look, which knows its path. Recursion is bounded by the depth limit, checked before.
private struct RuleWalk {
    let format: PropertyListFormat
    var path: PropertyListPath

    mutating func visit(_ value: PropertyList) throws(DefaultsError) {
        switch value.kind {
        case .null: throw unfit(.wrong("A file cannot hold nil", advice: "remove the key instead"))
        case .string: try visit(text: value)
        case .array: try visit(elementsOf: value)
        case .dictionary: try visit(entriesOf: value)
        case .date: try visit(date: value.date ?? 0)
        case .data, .uid:
            if format == .json { throw unfit("JSON cannot hold \(value.kind)") }
        case .real:
            if format == .json, !(value.real?.isFinite ?? true) { throw unfit("JSON cannot hold \(value.real ?? 0)") }
        case .boolean, .integer, .unsigned: break
        }
    }

    private func visit(text: PropertyList) throws(DefaultsError) {
        guard format == .xml else { return }
        let isUnfit = text.withBytes { hasControl($0.bindMemory(to: UInt8.self)) } ?? false
        if isUnfit { throw unfit(Self.controlMessage("string")) }
    }

    private func visit(date: Double) throws(DefaultsError) {
        if format == .json { throw unfit("JSON cannot hold Date") }
        // The years 1 to 9999, which ISO 8601 has four digits for.
        guard date >= -63_113_904_000, date < 252_423_993_600 else {
            throw unfit(.expected("a date of the years 1 to 9999", found: "\(date) seconds from 2001"))
        }
    }

    private mutating func visit(elementsOf array: PropertyList) throws(DefaultsError) {
        for (index, element) in zip(0..., array.elements) {
            path.steps.append(.index(index))
            try visit(element)
            path.steps.removeLast()
        }
    }

    private mutating func visit(entriesOf dictionary: PropertyList) throws(DefaultsError) {
        for (key, value) in dictionary.entries {
            path.steps.append(.key(key))
            if format == .xml, key.withBytes({ hasControl($0.bindMemory(to: UInt8.self)) }) {
                throw unfit(Self.controlMessage("key"))
            }
            try visit(value)
            path.steps.removeLast()
        }
        if dictionary.count == 1, dictionary[uidKey]?.integer != nil { throw unfit(uidMessage) }
    }

    private func unfit(_ words: ErrorWords) -> DefaultsError { DefaultsError(.invalidValue, words, at: path) }

    static func controlMessage(_ what: String) -> ErrorWords {
        .wrong("XML cannot hold a control character in a \(what)", advice: "a binary store can")
    }
}

/// The key by which XML marks a keyed archive's reference.
let uidKey = "CF$UID"
let uidMessage: ErrorWords = "A dictionary of nothing but an integer CF$UID would be read back as a UID"
