internal import CKVCodable
internal import FoundationEssentials
internal import PropertyLists

/// Reads one value from a property-list tree. What the value lacks is read from defaults, if the caller gave any.
final class TreeDecodingNode: DecodingNode {
    private let document: Document
    private let index: Int
    /// The element looked at last and its index, so that walking an array never starts over.
    private var lastElement = 0
    private var lastIndex = 0

    /// The dictionary at the same place in the defaults; nil for a value that is no dictionary, and without defaults.
    private var defaults: PropertyList?

    init(_ context: DecodingContext, _ list: PropertyList, filledBy defaults: PropertyList? = nil) {
        document = list.document
        index = list.index
        super.init(context)
        self.defaults = usable(defaults)
    }

    private init(
        _ list: PropertyList, inside holder: TreeDecodingNode, _ key: consuming LastKey, _ record: KeyRecord?
    ) {
        document = list.document
        index = list.index
        super.init(inside: holder, key, record)
    }

    private func usable(_ defaults: PropertyList?) -> PropertyList? {
        guard let defaults, defaults.kind == .dictionary, node.kind == .dictionary else { return nil }
        return defaults
    }

    /// The value at `slot` in the defaults.
    private func fallback(_ slot: DecodingSlot) -> PropertyList? {
        switch slot {
        case .named(let name): defaults?[name]
        case .index: nil
        case .whole: defaults
        }
    }

    override func forgetDefaults() { defaults = nil }

    override func makeChild(
        _ slot: DecodingSlot, _ key: () -> LastKey, _ record: KeyRecord?
    ) -> DecodingNode? {
        let fallback = fallback(slot)
        guard let index = find(slot) else {
            return fallback.map { TreeDecodingNode($0, inside: self, key(), record) }
        }
        let node = TreeDecodingNode(PropertyList(document: document, index: index), inside: self, key(), record)
        node.defaults = node.usable(fallback)
        return node
    }

    private var node: kv_node { document.nodes[index] }

    /// The value's index in the document; nil where there is none.
    private func find(_ slot: DecodingSlot) -> Int? {
        switch slot {
        case .named(let name): find(name)
        case .index(let element): find(element)
        case .whole: index
        }
    }

    @inline(__always) private func find(_ name: String) -> Int? {
        guard node.kind == .dictionary else { return nil }
        return name.withBytes { utf8 -> Int? in
            let (key, found) = document.search(utf8.bindMemory(to: UInt8.self), inDictionaryAt: index)
            return found ? index + document.nodes[key].distance : nil
        }
    }

    private func find(_ element: Int) -> Int? {
        guard element >= 0, element < elementCount else { return nil }
        if Int(truncatingIfNeeded: node.payload) == Int(node.count) + 1 { return index + 1 + element }
        if element < lastElement || lastIndex == 0 { (lastElement, lastIndex) = (0, index + 1) }
        while lastElement < element {
            lastIndex += document.nodes[lastIndex].span
            lastElement += 1
        }
        return lastIndex
    }

    private func list(at slot: DecodingSlot) -> PropertyList? {
        find(slot).map { PropertyList(document: document, index: $0) } ?? fallback(slot)
    }

    override func scalar(at slot: DecodingSlot) -> Scalar {
        if let index = find(slot) { return Self.scalar(document, index) }
        return fallback(slot).map { Self.scalar($0.document, $0.index) } ?? .absent
    }

    private static func scalar(_ document: Document, _ index: Int) -> Scalar {
        let node = document.nodes[index]
        switch node.kind {
        case .null: return .null
        case .boolean: return .bool(node.payload != 0)
        case .integer: return .int(Int(truncatingIfNeeded: Int64(bitPattern: node.payload)))
        case .unsigned: return .uint64(node.payload)
        case .real: return .double(Double(bitPattern: node.payload))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: node.payload)))
        case .string: return .string(String(decoding: document.buffer(of: node), as: UTF8.self))
        case .data: return .data(Data(document.buffer(of: node)))
        case .uid, .array, .dictionary: return .other
        }
    }

    override func bool(named name: String) -> Bool? { find(name).flatMap { Bool(document, at: $0) } }
    override func integer(named name: String) -> Int? { find(name).flatMap { Int(document, at: $0) } }
    override func double(named name: String) -> Double? { find(name).flatMap { Double(document, at: $0) } }
    override func string(named name: String) -> String? { find(name).flatMap { String(document, at: $0) } }

    override func any(at slot: DecodingSlot) -> Any? {
        guard let list = list(at: slot) else { return nil }
        return (try? list.any()) ?? list
    }

    override func typeName(at slot: DecodingSlot) -> String {
        switch list(at: slot)?.kind {
        case nil, .null: "nil"
        case .boolean: "Bool"
        case .integer: "Int"
        case .unsigned: "UInt64"
        case .real: "Double"
        case .date: "Date"
        case .uid: "PropertyListUID"
        case .string: "String"
        case .data: "Data"
        case .array: "Array<Any>"
        case .dictionary: "Dictionary<String, Any>"
        }
    }

    override func openEntries() -> Bool { node.kind == .dictionary }

    override func openElements() -> Bool { node.kind == .array }

    override var elementCount: Int { node.kind == .array ? Int(node.count) : 0 }

    override var names: [String] { PropertyList(document: document, index: index).keys }

    override var filledNames: [String] {
        guard let defaults else { return names }
        return EntryPairs(PropertyList(document: document, index: index), defaults).map(\.key)
    }

    override var lookAlikes: (String, String)? {
        guard node.kind == .dictionary else { return nil }
        let keys = document.keys(ofDictionaryAt: index)
        // Letters of ASCII alone have one form each.
        guard keys.contains(where: { document.buffer(of: document.nodes[$0]).contains { $0 >= 0x80 } }) else {
            return nil
        }
        var names: [String: String] = [:]
        for slot in keys {
            let name = String(decoding: document.buffer(of: document.nodes[slot]), as: UTF8.self)
            if let other = names.updateValue(name, forKey: name) { return (other, name) }
        }
        return nil
    }
}

// MARK: - Whole collections

extension TreeDecodingNode {
    /// The elements of an array of scalars that are all of one type.
    func allElements<S: ScalarValue>(_ type: S.Type, at slot: DecodingSlot) -> [S]? {
        guard let header = find(slot), document.nodes[header].kind == .array else { return nil }
        let count = Int(document.nodes[header].count)
        // An array of scalars takes one node for each, and one for itself.
        guard document.nodes[header].span == count + 1 else { return nil }
        // Appended one by one: room that is filled in a closure has to have its type looked up each time.
        var result: [S] = []
        result.reserveCapacity(count)
        for element in header &+ 1..<header &+ 1 &+ count {
            guard let value = S(document, at: element) else { return nil }
            result.append(value)
        }
        return result
    }

    /// The entries of a dictionary of scalars that are all of one type.
    func allEntries<S: ScalarValue>(_ type: S.Type, at slot: DecodingSlot) -> [String: S]? {
        guard let header = find(slot), document.nodes[header].kind == .dictionary, fallback(slot) == nil else {
            return nil
        }
        let keys = document.keys(ofDictionaryAt: header)
        var result: [String: S] = [:]
        result.reserveCapacity(keys.count)
        for slot in keys {
            let key = document.nodes[slot]
            guard let value = S(document, at: header + key.distance) else { return nil }
            // Keys that differ in normalisation alone become one in Swift's dictionary.
            let name = String(decoding: document.buffer(of: key), as: UTF8.self)
            guard result.updateValue(value, forKey: name) == nil else { return nil }
        }
        return result
    }
}
