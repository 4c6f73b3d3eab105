internal import CKVCodable

/// A container of the tree that is being written, and the source of its values.
struct ArchiveFrame {
    enum Content {
        case elements(PropertyList.Elements)
        /// The entries of an object from key `next` on; its class may be left out.
        case entries(PropertyList, next: Int, hidesClass: Bool)
        /// Keys and values in two arrays of the same length.
        case pairs(keys: PropertyList.Elements, values: PropertyList.Elements)
        /// `NS.object.0`, `NS.object.1` and so on.
        case numbered(PropertyList)
        /// `NS.object0`, as often as `NS.count0` says, and so on: `count` different ones, of which `next` is the next.
        case counted(PropertyList, next: Int64, count: Int64, left: Int64)

        var isArray: Bool {
            switch self {
            case .elements, .numbered, .counted: true
            case .entries, .pairs: false
            }
        }
    }

    var content: Content
    /// The UID of the object that becomes this container; 0 for none.
    let uid: UInt32
    /// Elements written so far.
    var index = 0
    /// The key of the value that is being written; nil before the first, and in arrays.
    var key: PropertyListPath.Step?

    init(content: Content, uid: UInt32) {
        self.content = content
        self.uid = uid
    }

    /// The step to the value that is being written.
    var step: PropertyListPath.Step? { content.isArray && index > 0 ? .index(index - 1) : key }
}

extension ArchiveFlattener where Output: ~Copyable {
    /// The next value of the innermost container, after its key has been written; nil at the end.
    mutating func next() throws(PropertyListError) -> PropertyList? {
        let top = frames.count - 1
        frames[top].key = nil
        switch frames[top].content {
        case .elements(var elements):
            guard let value = elements.next() else { return nil }
            frames[top].content = .elements(elements)
            frames[top].index += 1
            return value
        case .entries(let object, let next, let hidesClass): return try nextEntry(of: object, from: next, hidesClass)
        case .pairs(var keys, var values):
            guard let key = keys.next(), let value = values.next() else { return nil }
            frames[top].content = .pairs(keys: keys, values: values)
            try self.key(key)
            return value
        case .numbered(let object):
            guard let value = object["NS.object.\(frames[top].index)"] else { return nil }
            frames[top].index += 1
            return value
        case .counted(let object, let next, let count, let left):
            return try nextCounted(of: object, next, count, left)
        }
    }

    /// The next entry whose value is not nil.
    private mutating func nextEntry(
        of object: PropertyList, from next: Int, _ hidesClass: Bool
    ) throws(PropertyListError) -> PropertyList? {
        let document = object.document
        let slots = document.keys(ofDictionaryAt: object.index)
        for slot in slots.dropFirst(next) {
            let key = document.nodes[slot]
            let value = PropertyList(document: document, index: object.index + key.distance)
            let name = document.buffer(of: key)
            if value.uid == 0 || hidesClass && name.elementsEqual("$class".utf8) { continue }
            let top = frames.count - 1
            frames[top].content = .entries(object, next: slot - slots.lowerBound + 1, hidesClass: hidesClass)
            frames[top].key = .key(String(decoding: name, as: UTF8.self))
            try output.key(UnsafeRawBufferPointer(name))
            return value
        }
        return nil
    }

    private mutating func nextCounted(
        of object: PropertyList, _ start: Int64, _ count: Int64, _ left: Int64
    ) throws(PropertyListError) -> PropertyList? {
        var (next, left) = (start, left)
        while left == 0 {
            guard next < count else { return nil }
            let times = try part(object, "NS.count\(next)")
            guard let number = times?.integer, number >= 0 else {
                throw unexpected("a count", "NS.count\(next)", times)
            }
            let budget = limits.nodeBudget(for: archive.nodeCount)
            guard number <= budget else {
                throw error(.limitExceeded, "Shared objects grow to more than \(budget) nodes")
            }
            (next, left) = (next + 1, number)
        }
        let name = "NS.object\(next - 1)"
        guard let value = object[name] else { throw unexpected("an object", name, nil) }
        let top = frames.count - 1
        frames[top].content = .counted(object, next: next, count: count, left: left - 1)
        frames[top].index += 1
        return value
    }

    /// Writes a key: a string, a URL's text, or an integer's digits.
    private mutating func key(_ key: PropertyList) throws(PropertyListError) {
        var found: PropertyList? = key
        if let uid = key.uid { found = archive.object(uid) }
        let top = frames.count - 1
        if let inner = found, inner.kind == .dictionary {
            if inner["NS.relative"] != nil { return try self.key(try url(inner), of: top) }
            found = try part(inner, "NS.string")
        }
        if let text = found, text.kind == .string {
            frames[top].key = .key(text.string ?? "")
            return try output.key(UnsafeRawBufferPointer(text.document.buffer(of: text.node)))
        }
        guard let number = found?.integer else {
            throw error(.invalidValue, .expected("String as a key", found: "\(found.map { "\($0.kind)" } ?? "nil")"))
        }
        try self.key(String(number), of: top)
    }

    private mutating func key(_ text: String, of frame: Int) throws(PropertyListError) {
        frames[frame].key = .key(text)
        try text.withBytes { bytes throws(PropertyListError) in try output.key(bytes) }
    }
}
