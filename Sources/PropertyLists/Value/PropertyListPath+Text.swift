extension PropertyListPath {
    /// The path that a person's text means: `window.tags[2]`, with keys in double quotes where they hold dots, brackets,
    /// quotes or blanks: `"com.example.app".width`. The empty text is the value itself.
    ///
    /// In quotes, `\"` is a quote and `\\` a backslash. Indexes are counted from 0.
    ///
    /// ```swift
    /// let path = try PropertyListPath(text: "recent[0].\"last.opened\"")
    /// print(path == ["recent", 0, "last.opened"], path.text)  // true recent[0]."last.opened"
    /// ```
    ///
    /// - Throws: ``PropertyListError/Code/malformed`` with the column of the fault.
    public init(text: String) throws(PropertyListError) {
        var reader = PathReader(text)
        self.init(try reader.steps())
    }

    /// The path as ``init(text:)`` reads it. Unlike the description, it shows all of the path.
    public var text: String {
        var text = ""
        for step in steps {
            switch step {
            case .key(let key): text += (text.isEmpty ? "" : ".") + Self.quoted(key)
            case .index(let index): text += "[\(index)]"
            }
        }
        return text
    }

    private static func quoted(_ key: String) -> String {
        let needsQuotes = key.isEmpty || key.unicodeScalars.contains { PathReader.isMark($0) }
        guard needsQuotes else { return key }
        var text = "\""
        for scalar in key.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { text += "\\" }
            text.unicodeScalars.append(scalar)
        }
        return text + "\""
    }
}

/// Reads the text of a path, scalar by scalar.
private struct PathReader {
    private let text: [Unicode.Scalar]
    private var position = 0

    init(_ text: String) { self.text = Array(text.unicodeScalars) }

    /// Whether the scalar ends a key without quotes.
    static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case ".", "[", "]", "\"", "\\", " ", "\t", "\n", "\r": true
        default: false
        }
    }

    private var current: Unicode.Scalar? { position < text.count ? text[position] : nil }

    mutating func steps() throws(PropertyListError) -> [PropertyListPath.Step] {
        var steps: [PropertyListPath.Step] = []
        while let mark = current {
            if mark == "[" {
                steps.append(.index(try index()))
            } else {
                if !steps.isEmpty { try expect(".") }
                steps.append(.key(try key()))
            }
        }
        return steps
    }

    private mutating func expect(_ mark: Unicode.Scalar) throws(PropertyListError) {
        guard current == mark else { throw error("\"\(mark)\"") }
        position += 1
    }

    private mutating func index() throws(PropertyListError) -> Int {
        try expect("[")
        let start = position
        while let digit = current, ("0"..."9").contains(digit) { position += 1 }
        guard let index = Int(String(String.UnicodeScalarView(text[start..<position]))) else {
            position = start
            throw error("an index from 0")
        }
        try expect("]")
        return index
    }

    private mutating func key() throws(PropertyListError) -> String {
        guard current == "\"" else {
            let start = position
            while let scalar = current, !Self.isMark(scalar) { position += 1 }
            guard position > start else { throw error("a key") }
            return String(String.UnicodeScalarView(text[start..<position]))
        }
        position += 1
        var key = String.UnicodeScalarView()
        while let scalar = current, scalar != "\"" {
            position += 1
            guard scalar == "\\" else {
                key.append(scalar)
                continue
            }
            guard let escaped = current else { break }
            key.append(escaped)
            position += 1
        }
        try expect("\"")
        return String(key)
    }

    private func error(_ expected: String) -> PropertyListError {
        let found = current.map { "\"\($0)\"" } ?? "the end"
        return PropertyListError(
            .malformed, .expected("\(expected) in the path", found: found), location: .line(1, column: position + 1))
    }
}
