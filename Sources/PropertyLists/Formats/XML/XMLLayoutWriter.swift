internal import CKVCodable

/// Writes a value as an XML file in the layout of an older one: each value that is still there keeps the text around
/// it.
///
/// - Comments, instructions and blank lines before a key go where the key goes. So does a comment at the end of a
///   value's line. Those before the end of a dictionary stay there.
/// - A value that is as it was is copied as it stands in the file.
/// - New keys are written behind those that were there, in their order, each on lines of its own.
/// - An array that is not as it was, and in more than 16 dictionaries each array, is written without its comments.
/// - A key that is gone, and a dictionary that has become another kind of value, takes its comments with it. Of equal
///   keys in the old file the last counts, with its comments.
struct XMLLayoutWriter: ~Copyable {
    /// An entry in the new file.
    private struct Step {
        /// Its index among the old dictionary's entries; nil for a new entry.
        var old: Int?
        /// The node of its key.
        var key: Int
        var node: Int
    }

    /// A dictionary that is being written.
    private struct Frame {
        /// The item of the old dictionary.
        var item: Int
        var children: [Int]
        /// Whether a child is in the new file.
        var isKept: [Bool]
        var steps: [Step]
        var position = 0
    }

    /// Values are compared as a whole in this many containers inside one another, which bounds how often each is.
    private static let comparedDepth = 16

    private let layout: XMLLayout
    private var writer: TextWriter<XMLWriter>
    private var frames: [Frame] = []

    /// - Parameter list: a value that ``XMLWriter`` can write.
    init(_ list: PropertyList, _ layout: consuming XMLLayout) {
        self.layout = layout
        writer = TextWriter<XMLWriter>(list, GrowableBuffer())
        writer.format.indentation = XMLIndentation(of: self.layout)
    }

    /// The bytes of the file.
    consuming func write(_ list: PropertyList) throws(PropertyListError) -> [UInt8] {
        let root = layout.items[0]
        writer.output.reserve(layout.text.count + layout.text.count / 8)
        if layout.foreignDeclaration > 0 { writer.output.append(text: XMLWriter.declaration) }
        copy(layout.foreignDeclaration, Int(root.value))
        try value(0, list.index)
        while !frames.isEmpty { try next() }
        copy(Int(root.end), layout.text.count)
        var output = writer.takeOutput()
        return output.takeArray()
    }

    private mutating func copy(_ start: Int, _ end: Int) {
        if end > start { writer.output.append(layout.text.slice(start, end)) }
    }
}

// MARK: - Values

extension XMLLayoutWriter {
    /// Writes the value that replaces an old one, or begins it.
    private mutating func value(_ index: Int, _ node: Int) throws(PropertyListError) {
        let item = layout.items[index]
        let old = PropertyList(document: layout.tree, index: Int(item.node))
        let new = PropertyList(document: writer.document, index: node)
        if !old.kind.isContainer || frames.count < Self.comparedDepth && !layout.hasDuplicates, old == new {
            copy(Int(item.value), Int(item.end))
        } else if item.inside > 0, old.kind == .dictionary, new.kind == .dictionary {
            copy(Int(item.value), Int(item.inside))
            frames.append(dictionary(index, node))
        } else {
            try newValue(node)
        }
    }

    /// Writes a value that was not there, without the end of its line.
    private mutating func newValue(_ node: Int) throws(PropertyListError) {
        writer.format.outerDepth = frames.count
        writer.walk = TreeWalk(of: PropertyList(document: writer.document, index: node))
        switch writer.walk.next() {
        case .value(let node): try writer.value(node)
        case .begin(let node): writer.begin(node)
        case .end, nil: return
        }
        try writer.lines()
        writer.output.count -= 1
    }

    private mutating func newEntry(_ step: Step) throws(PropertyListError) {
        newLine()
        try writer.key(writer.document.nodes[step.key])
        newLine()
        try newValue(step.node)
    }

    private mutating func newLine() {
        writer.output.append(text: "\n")
        writer.format.outerDepth = frames.count
        writer.indent(0)
    }
}

// MARK: - Dictionaries

extension XMLLayoutWriter {
    private func dictionary(_ index: Int, _ node: Int) -> Frame {
        let children = layout.children(of: index)
        let keys = writer.document.keys(ofDictionaryAt: node)
        // The last child of each key.
        var owners = [Int?](repeating: nil, count: keys.count)
        for (number, child) in children.enumerated() {
            let (slot, isFound) = writer.document.search(layout.key(layout.items[child]), inDictionaryAt: node)
            if isFound { owners[slot - keys.lowerBound] = number }
        }
        var slots = [Int?](repeating: nil, count: children.count)
        for (slot, number) in owners.enumerated() {
            if let number { slots[number] = slot }
        }
        func step(_ slot: Int, _ number: Int?) -> Step {
            let key = keys.lowerBound + slot
            return Step(old: number, key: key, node: node + writer.document.nodes[key].distance)
        }
        let kept = slots.enumerated().compactMap { number, slot in slot.map { step($0, number) } }
        let new = owners.enumerated().compactMap { slot, number in number == nil ? step(slot, nil) : nil }
        return Frame(item: index, children: children, isKept: slots.map { $0 != nil }, steps: kept + new)
    }

    /// Writes the next entry of the open dictionary, or its end.
    private mutating func next() throws(PropertyListError) {
        let frame = frames[frames.count - 1]
        if frame.position > 0, let last = frame.steps[frame.position - 1].old {
            let item = layout.items[frame.children[last]]
            copy(Int(item.end), layout.text.endOfLine(Int(item.end)))
        }
        guard frame.position < frame.steps.count else {
            copyMarkup(before: frame.children.count, in: frame)
            frames.removeLast()
            return copy(Int(layout.items[frame.item].close), Int(layout.items[frame.item].end))
        }
        frames[frames.count - 1].position += 1
        let step = frame.steps[frame.position]
        guard let old = step.old else { return try newEntry(step) }
        copyMarkup(before: old, in: frame)
        let item = layout.items[frame.children[old]]
        copy(Int(item.key), Int(item.value))
        try value(frame.children[old], step.node)
    }

    /// Copies the text before an old child, or before the end of the dictionary. A comment that ends the line of a
    /// value before it which is gone gets a line of its own.
    private mutating func copyMarkup(before number: Int, in frame: Frame) {
        let container = layout.items[frame.item]
        let end = Int(number < frame.children.count ? layout.items[frame.children[number]].key : container.close)
        guard number > 0 else { return copy(Int(container.inside), end) }
        var start = Int(layout.items[frame.children[number - 1]].end)
        let endOfLine = layout.text.endOfLine(start)
        if frame.isKept[number - 1] {
            start = endOfLine
        } else if endOfLine > start {
            newLine()
            while start < endOfLine, isWhitespace(layout.text.base[start]) { start += 1 }
        }
        copy(start, end)
    }
}

extension TextCursor {
    /// Behind the last of the comments that stand between a position and the end of its line; the position itself where
    /// there is none, or something else stands there.
    fileprivate func endOfLine(_ start: Int) -> Int {
        var cursor = self
        cursor.position = start
        while true {
            let end = cursor.position
            cursor.skip { $0 == 0x20 || $0 == 0x09 }
            if cursor.current == 0x0A || cursor.current == 0x0D { return end }
            guard cursor.consume("<!--"), cursor.skip(behind: "-->") else { return start }
        }
    }
}
