extension PropertyListPath {
    /// The locations of the values that paths lead to in a file, for messages about them: line and column, nil where a
    /// path leads to no value, where the file is damaged, and for formats other than XML and JSON.
    ///
    /// ```swift
    /// let file = Array("{\n  \"volume\": 11\n}".utf8)
    /// let found = PropertyListPath.locations(of: [["volume"]], in: file, as: .json)  // [.line(2, column: 13)]
    /// ```
    ///
    /// Takes as long as reading the file, and for each path in JSON once more.
    ///
    /// - Parameter limits: those that the file was read with.
    public static func locations(
        of paths: [PropertyListPath], in file: [UInt8], as format: PropertyListFormat,
        limits: PropertyListLimits = PropertyListLimits()
    ) -> [PropertyListError.Location?] {
        let found: [PropertyListError.Location?]? = TextEncoding.withText(of: file) { text in
            switch format {
            case .xml: try? XMLLayout(of: text, limits: limits).locations(of: paths)
            case .json: paths.map { JSONLocator(text).location(of: $0) }
            case .binary, .openStep: nil
            }
        }
        return found ?? paths.map { _ in nil }
    }
}

extension XMLLayout {
    fileprivate borrowing func locations(of paths: [PropertyListPath]) -> [PropertyListError.Location?] {
        var locations: [PropertyListError.Location?] = []
        for path in paths { locations.append(item(at: path).map { text.location(of: Int(items[$0].value)) }) }
        return locations
    }

    private borrowing func item(at path: PropertyListPath) -> Int? {
        var index = 0
        for step in path.steps {
            let children = children(of: index)
            switch (step, node(items[index]).kind) {
            case (.index(let number), .array):
                guard children.indices.contains(number) else { return nil }
                index = children[number]
            case (.key(let key), .dictionary):
                // Of a key that stands twice the later value counts.
                var found: Int?
                for child in children where self.key(items[child]).elementsEqual(key.utf8) { found = child }
                guard let found else { return nil }
                index = found
            default: return nil
            }
        }
        return index
    }
}

/// A walk to a value in a text of JSON that was read before.
private struct JSONLocator {
    private let text: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ text: UnsafeBufferPointer<UInt8>) { self.text = text }

    func location(of path: PropertyListPath) -> PropertyListError.Location? {
        var walk = self
        for step in path.steps {
            guard walk.enter(step) else { return nil }
        }
        walk.skipBlanks()
        return walk.position < text.count ? TextCursor(text).location(of: walk.position) : nil
    }

    private mutating func skipBlanks() {
        while position < text.count, text[position] <= UInt8(ascii: " ") { position += 1 }
    }

    private mutating func skipString() {
        position += 1
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            position += text[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        position += 1
    }

    /// Moves from the start of a container to the start of a part of it.
    private mutating func enter(_ step: PropertyListPath.Step) -> Bool {
        skipBlanks()
        guard position < text.count else { return false }
        let isObject = text[position] == UInt8(ascii: "{")
        position += 1
        var index = 0
        while position < text.count {
            skipBlanks()
            var key: String?
            if isObject {
                let start = position
                skipString()
                guard position <= text.count, start < position else { return false }
                key = try? PropertyList(parsing: Array(text[start..<position]), as: .json).string
                skipBlanks()
                position += 1
            }
            if step == key.map(PropertyListPath.Step.key) ?? .index(index) { return true }
            skipValue()
            skipBlanks()
            guard position < text.count, text[position] == UInt8(ascii: ",") else { return false }
            position += 1
            index += 1
        }
        return false
    }

    private mutating func skipValue() {
        var depth = 0
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""):
                skipString()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return }
                depth -= 1
            case UInt8(ascii: ",") where depth == 0: return
            default: break
            }
            position += 1
        }
    }
}
