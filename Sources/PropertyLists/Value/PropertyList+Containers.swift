public import CKVCodable

extension PropertyList {
    /// The element at `index`, counted from 0; nil past the end or when the value is no array.
    ///
    /// Constant time in an array of scalars; else time proportional to `index`: walk ``elements`` to see them all.
    public subscript(index: Int) -> PropertyList? {
        guard kind == .array, index >= 0, index < count else { return nil }
        return PropertyList(document: document, index: document.element(index, ofArrayAt: self.index))
    }

    /// The value of `key`; nil when it is absent or the value is no dictionary.
    public subscript(key: String) -> PropertyList? {
        key.withBytes { self[utf8: $0.bindMemory(to: UInt8.self)] }
    }

    /// The value of the key with these bytes; nil when it is absent or the value is no dictionary.
    package subscript(utf8 key: UnsafeBufferPointer<UInt8>) -> PropertyList? {
        // A store looks into layers of which most are empty.
        guard count > 0, let index = index(ofUTF8Key: key) else { return nil }
        return PropertyList(document: document, index: index)
    }

    /// The node of the key's value; nil when the key is absent or the value is no dictionary.
    package func index(ofUTF8Key key: UnsafeBufferPointer<UInt8>) -> Int? {
        document.index(ofUTF8Key: key, inValueAt: index)
    }

    /// The elements of an array in order; nothing for other kinds.
    public var elements: Elements { Elements(array: self) }

    /// The entries of a dictionary in the order of their keys' bytes; nothing for other kinds.
    public var entries: Entries { Entries(dictionary: self) }

    /// The keys of a dictionary in the order of their bytes; nothing for other kinds.
    public var keys: [String] { entries.map(\.key) }

    /// The value at the end of `path`; nil when there is none.
    public func value(at path: PropertyListPath) -> PropertyList? { value(atSteps: path.steps[...]) }

    /// The value at the end of a part of a path; nil when there is none.
    package func value(atSteps steps: ArraySlice<PropertyListPath.Step>) -> PropertyList? {
        var value = self
        for step in steps {
            let next: PropertyList? =
                switch step {
                case .key(let key): value[key]
                case .index(let index): value[index]
                }
            guard let next else { return nil }
            value = next
        }
        return value
    }

    /// The elements of an array, in order, each read when it is asked for. Keeps the document alive; a copy continues
    /// from the position of the original.
    ///
    /// ```swift
    /// let sizes = try PropertyList(any: [1, 2, 3])
    /// for size in sizes.elements { print(size) }
    /// print(sizes.elements.compactMap(\.integer))  // [1, 2, 3]
    /// ```
    public struct Elements: Sequence, IteratorProtocol {
        private let document: Document
        private var position: Int
        private var remaining: Int

        init(array: PropertyList) {
            document = array.document
            position = array.index + 1
            remaining = array.kind == .array ? array.count : 0
        }

        public var underestimatedCount: Int { remaining }

        public mutating func next() -> PropertyList? {
            guard remaining > 0 else { return nil }
            remaining -= 1
            defer { position += document.nodes[position].span }
            return PropertyList(document: document, index: position)
        }
    }

    /// The entries of a dictionary, in the order of their keys' bytes, each read when it is asked for. Keeps the
    /// document alive; a copy continues from the position of the original.
    ///
    /// ```swift
    /// let window = try PropertyList(any: ["width": 640, "height": 480])
    /// for (key, value) in window.entries { print(key, value) }  // height 480, then width 640
    /// print(window.entries.map(\.key))  // ["height", "width"]
    /// ```
    public struct Entries: Sequence, IteratorProtocol {
        private let document: Document
        private let header: Int
        private var slot: Int
        private let end: Int

        init(dictionary: PropertyList) {
            document = dictionary.document
            header = dictionary.index
            let keys = dictionary.kind == .dictionary ? document.keys(ofDictionaryAt: header) : 0..<0
            slot = keys.lowerBound
            end = keys.upperBound
        }

        public var underestimatedCount: Int { end - slot }

        public mutating func next() -> (key: String, value: PropertyList)? {
            guard slot < end else { return nil }
            defer { slot += 1 }
            let key = document.nodes[slot]
            let value = PropertyList(document: document, index: header + key.distance)
            return (String(decoding: document.buffer(of: key), as: UTF8.self), value)
        }
    }
}

extension Document {
    /// The key nodes of a dictionary, the last `count` nodes of its span.
    @inlinable package func keys(ofDictionaryAt header: Int) -> Range<Int> {
        let node = nodes[header]
        let end = header &+ Int(truncatingIfNeeded: node.payload)
        return (end &- Int(node.count))..<end
    }

    /// The node of element `index`, which must be below the array's count.
    package func element(_ index: Int, ofArrayAt header: Int) -> Int {
        let node = nodes[header]
        if Int(truncatingIfNeeded: node.payload) == Int(node.count) + 1 { return header + 1 + index }
        var position = header + 1
        for _ in 0..<index { position += nodes[position].span }
        return position
    }

    /// The node of the key's value; nil when the key is absent or the value at `header` is no dictionary.
    package func index(ofUTF8Key key: UnsafeBufferPointer<UInt8>, inValueAt header: Int) -> Int? {
        guard nodes[header].kind == .dictionary else { return nil }
        let (slot, found) = search(key, inDictionaryAt: header)
        return found ? header + nodes[slot].distance : nil
    }

    /// The slot of `key` among the dictionary's keys, or the slot to insert it at.
    package func search(
        _ key: UnsafeBufferPointer<UInt8>, inDictionaryAt header: Int
    ) -> (slot: Int, found: Bool) {
        let keys = keys(ofDictionaryAt: header)
        let wanted = leadingWord(key)
        var low = keys.lowerBound
        var high = keys.upperBound
        while low < high {
            let middle = (low &+ high) &>> 1
            let order = order(of: nodes[middle], to: key, wanted)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle &+ 1 } else { high = middle }
        }
        return (low, false)
    }

    /// The order of a key node relative to a key whose first bytes are `wanted`, in which most keys differ.
    private func order(of node: kv_node, to key: UnsafeBufferPointer<UInt8>, _ wanted: UInt64) -> Int {
        let text = buffer(of: node)
        let found = leadingWord(text)
        if found != wanted { return found < wanted ? -1 : 1 }
        return compareBytes(text, key)
    }
}
