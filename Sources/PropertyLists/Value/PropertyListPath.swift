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
    /// Keys are the same where their bytes are, as in the dictionaries that they lead into: Swift's strings take "é" as
    /// one character and as a letter with an accent for the same.
    public static func == (first: Self, second: Self) -> Bool {
        switch (first, second) {
        case (.key(let first), .key(let second)): first.utf8.elementsEqual(second.utf8)
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
