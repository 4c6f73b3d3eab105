/// The way from a value to one inside it: a key for each dictionary, an index for each array.
///
/// The empty path is the value itself. Keys are exact: dots and spaces have no meaning in them.
///
/// ```swift
/// let list = try PropertyList(any: ["window": ["tags": ["a", "b", "c"]]])
/// let path: PropertyListPath = ["window", "tags", 2]
/// print(path, list.value(at: path)?.string ?? "none")  // window.tags[2] c
/// ```
public struct PropertyListPath: Sendable, Hashable {
    /// One step of the way: into a dictionary, or into an array.
    ///
    /// ```swift
    /// let path: PropertyListPath = ["tags", 0]
    /// for step in path.steps {
    ///     switch step {
    ///     case .key(let key): print("key", key)
    ///     case .index(let index): print("element", index)
    ///     }
    /// }
    /// ```
    public enum Step: Sendable, Hashable {
        /// The value of a key of a dictionary.
        case key(String)
        /// An element of an array, counted from 0.
        case index(Int)
    }

    /// The steps, the outermost first.
    public var steps: [Step]

    /// A path of these steps; of none, the value itself. A literal does the same: `["window", "tags", 2]`.
    public init(_ steps: [Step] = []) {
        self.steps = steps
    }

    /// Whether the path is the value itself.
    public var isEmpty: Bool { steps.isEmpty }

    /// This path, one step longer.
    public func appending(_ step: Step) -> PropertyListPath {
        PropertyListPath(steps + [step])
    }

    /// This path, then `other`.
    public func appending(_ other: PropertyListPath) -> PropertyListPath {
        PropertyListPath(steps + other.steps)
    }

    /// The path as messages show it, `window.tags[2]`, with indexes counted from `firstIndex`.
    ///
    /// A path of more than 24 steps shows the first 12 and the last 12, with their number between them
    /// (`a.b … 488 steps … c[0]`), and a key of more than 80 characters its beginning and end, which matter most in a
    /// long path. ``steps`` has all of it.
    ///
    /// - Parameters:
    ///   - root: the name of the value itself, such as `SELF`; empty for none.
    ///   - firstIndex: the index of an array's first element, for languages that count from 1.
    public func description(root: String, firstIndex: Int = 0) -> String {
        let shown = 12
        guard steps.count > 2 * shown else { return Self.text(of: steps[...], behind: root, firstIndex) }
        return Self.text(of: steps.prefix(shown), behind: root, firstIndex) + " … \(steps.count - 2 * shown) steps … "
            + Self.text(of: steps.suffix(shown), behind: "", firstIndex)
    }

    private static func text(of steps: ArraySlice<Step>, behind root: String, _ firstIndex: Int) -> String {
        var text = root
        for step in steps {
            switch step {
            case .key(let key): text += (text.isEmpty ? "" : ".") + shown(key)
            case .index(let index): text += "[\(index.addingReportingOverflow(firstIndex).partialValue)]"
            }
        }
        return text
    }
}

/// A text as messages quote it: of a long one only the first and the last `count` characters, since a script can make a
/// text as long as memory.
package func shown(_ text: String, _ count: Int = 40) -> String {
    let scalars = text.unicodeScalars
    guard text.utf8.count > 2 * count,
        let end = scalars.index(scalars.startIndex, offsetBy: 2 * count, limitedBy: scalars.endIndex),
        end < scalars.endIndex
    else { return text }
    return String(scalars.prefix(count)) + "…" + String(scalars.suffix(count))
}

extension PropertyListPath.Step {
    /// The step to the value of a key that is given as its bytes, which are UTF-8.
    @inlinable package static func key(utf8 key: some Collection<UInt8>) -> Self {
        .key(String(decoding: key, as: UTF8.self))
    }

    /// Keys are the same where their bytes are, as in the dictionaries that they lead into: Swift's strings take "é" as
    /// one character and as a letter with an accent for the same.
    public static func == (first: Self, second: Self) -> Bool {
        switch (first, second) {
        case (.key(let first), .key(let second)): first == second && first.utf8.elementsEqual(second.utf8)
        case (.index(let first), .index(let second)): first == second
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .key(let key): key.withBytes { hasher.combine(bytes: $0) }
        case .index(let index): hasher.combine(index)
        }
    }
}

extension PropertyListPath: CustomStringConvertible {
    public var description: String { description(root: "") }
}

extension PropertyListPath: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Step...) {
        self.init(elements)
    }
}

extension PropertyListPath.Step: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    public init(stringLiteral key: String) { self = .key(key) }
    public init(integerLiteral index: Int) { self = .index(index) }
}

// MARK: - The text of a path

extension PropertyListPath {
    /// The path that a person's text means: `window.tags[2]`, with keys in double quotes where they hold dots,
    /// brackets, quotes or blanks: `"com.example.app".width`. The empty text is the value itself.
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
