internal import CKVCodable

/// The positions of the values in the text of an XML file, so that the file can be written anew and keep a person's
/// comments, order of keys and blank lines.
///
/// They take 36 bytes for each value, beside the tree that was read with them.
struct XMLLayout: ~Copyable {
    /// The positions of a value, counted in bytes of the text.
    struct Item: BitwiseCopyable {
        /// The start of its key, and its own start; equal in an array and at the root.
        var key: UInt32
        var value: UInt32
        /// The key's text in the tree's bytes.
        fileprivate var keyOffset: UInt32
        fileprivate var keyCount: UInt32
        /// Behind a container's start tag; 0 for a scalar, and for a container without an end tag.
        var inside: UInt32 = 0
        /// A container's end tag.
        var close: UInt32 = 0
        /// Behind the value and the instructions that belong to it.
        var end: UInt32 = 0
        /// The item behind the value and its descendants.
        var next: UInt32 = 0
        /// The value's node in the tree. Of no meaning inside a dictionary that is a UID.
        var node: UInt32
    }

    let text: TextCursor
    /// The values in the order of the file; the first is the root.
    let items: GrowableBuffer<Item>
    /// The values as they are in the file. Earlier values of a key that comes again are still in it, where nothing but
    /// their items leads to them.
    let tree: Document
    /// Whether a key stands twice in a dictionary.
    let hasDuplicates: Bool
    /// Behind an XML declaration that names another encoding than UTF-8, which the text has been turned into; else 0.
    let foreignDeclaration: Int

    /// - Parameter text: valid UTF-8, which outlives the layout.
    /// - Throws: as a reader does, and where the file is too large for the items.
    init(of text: UnsafeBufferPointer<UInt8>, limits: PropertyListLimits) throws(PropertyListError) {
        guard text.count < UInt32.max else { throw PropertyListError(.limitExceeded, "A file of 4 GB or more") }
        var reader = TextReader<XMLReader>(
            TextCursor(text), PropertyListBuilder(limits: limits))
        var items = GrowableBuffer<Item>()
        try reader.read(into: &items)
        self.text = reader.cursor
        self.items = items
        foreignDeclaration = reader.format.foreignDeclaration
        hasDuplicates = reader.output.hasDuplicates
        tree = Document(nodes: &reader.output.nodes, bytes: &reader.output.bytes)
    }

    func node(_ item: Item) -> kv_node { tree.nodes[Int(item.node)] }

    func key(_ item: Item) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: tree.bytes + Int(item.keyOffset), count: Int(item.keyCount))
    }

    /// The items of the values that stand in a container.
    func children(of index: Int) -> [Int] {
        var result: [Int] = []
        var child = index + 1
        while child < Int(items[index].next) {
            result.append(child)
            child = Int(items[child].next)
        }
        return result
    }
}

extension TextReader<XMLReader> {
    /// Reads the whole text, and notes the positions of each value.
    fileprivate mutating func read(into items: inout GrowableBuffer<XMLLayout.Item>) throws(PropertyListError) {
        var open = GrowableBuffer<Int>()
        try beginning()
        try value(into: &items, &open, keyAt: cursor.position, keyOffset: 0, keyCount: 0)
        while open.count > 0 {
            try skipMarkup()
            let start = cursor.position
            if cursor.isAt("</") {
                try closeContainer()
                open.count -= 1
                let index = open[open.count]
                items[index].close = UInt32(start)
                items[index].end = UInt32(endOfValue())
                items[index].next = UInt32(items.count)
                continue
            }
            let keyOffset = output.bytes.count
            if isDictionary { try key() }
            let keyCount = output.bytes.count - keyOffset
            if isDictionary { try skipMarkup() }
            try value(into: &items, &open, keyAt: start, keyOffset: keyOffset, keyCount: keyCount)
        }
        try XMLReader.end(&self)
    }

    private mutating func value(
        into items: inout GrowableBuffer<XMLLayout.Item>, _ open: inout GrowableBuffer<Int>, keyAt key: Int,
        keyOffset: Int, keyCount: Int
    ) throws(PropertyListError) {
        guard let keyOffset = UInt32(exactly: keyOffset) else {
            throw PropertyListError(.limitExceeded, "Text of 4 GB or more")
        }
        var item = XMLLayout.Item(
            key: UInt32(key), value: UInt32(cursor.position), keyOffset: keyOffset, keyCount: UInt32(keyCount),
            node: UInt32(output.nodes.count))
        let outer = depth
        try self.value()
        if depth > outer {
            item.inside = UInt32(cursor.position)
            open.append(items.count)
        } else {
            item.end = UInt32(endOfValue())
            item.next = UInt32(items.count + 1)
        }
        items.append(item)
    }

    /// Steps over date instructions, behind any value: a date that replaces the value later must not be read together
    /// with an instruction left there.
    private mutating func endOfValue() -> Int {
        while cursor.isAt(XMLWriter.exactDate), cursor.skip(behind: "?>") {}
        return cursor.position
    }
}

/// The indentation of a file's lines.
struct XMLIndentation {
    /// The indentation of the root.
    private let base: [UInt8]
    /// The indentation of each level below it.
    private let unit: [UInt8]

    /// The indentation as the first value in the root shows it; nil where that is one tab, or shows none.
    init?(of layout: borrowing XMLLayout) {
        guard layout.items.count > 1, let outer = layout.text.indentation(of: Int(layout.items[0].value)),
            let inner = layout.text.indentation(of: Int(layout.items[1].key)), inner.starts(with: outer)
        else { return nil }
        base = Array(outer)
        unit = Array(inner.dropFirst(outer.count))
        guard base.count <= 16, unit.count <= 8, !base.isEmpty || unit != [0x09] else { return nil }
    }

    func write(_ depth: Int, to output: inout GrowableBuffer<UInt8>) {
        base.withUnsafeBufferPointer { output.append($0) }
        for _ in 0..<depth { unit.withUnsafeBufferPointer { output.append($0) } }
    }
}

extension TextCursor {
    /// The white space between the beginning of a line and a position; nil where something else stands there.
    fileprivate func indentation(of position: Int) -> UnsafeBufferPointer<UInt8>? {
        var start = position
        while start > 0, base[start - 1] == 0x20 || base[start - 1] == 0x09 { start -= 1 }
        return start > 0 && base[start - 1] == 0x0A ? slice(start, position) : nil
    }
}
