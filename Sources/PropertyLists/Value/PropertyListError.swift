public import FoundationEssentials

/// An error of this room: the fault, the path of the value at fault, and the position in the file.
///
/// ```swift
/// do {
///     _ = try PropertyList(any: ["width": 640]).setting(.emptyDictionary, at: ["width", "left"])
/// } catch {
///     print(error)  // Expected Dictionary at width, found Int
/// }
/// ```
public struct PropertyListError: Error, Sendable, Hashable {
    /// The kind of fault.
    ///
    /// ```swift
    /// do {
    ///     _ = try PropertyList(parsing: Array("<plist>".utf8))
    /// } catch where error.code == .malformed {
    ///     print("No property list:", error)
    /// }
    /// ```
    public enum Code: Sendable, Hashable {
        /// The bytes are no property list of the format: a syntax error, a damaged file.
        case malformed
        /// Well-formed, but not to be held: a string that is not UTF-8, a key that is no string, a null in a file.
        case invalidValue
        /// Deeper, longer or larger than the limits allow.
        case limitExceeded
        /// A path leads through a value that is not the container it names, or past the end of an array.
        case pathMismatch
        /// A builder was used out of order: a value without its key, an end without its begin.
        case misuse
    }

    /// The position of an error in a file.
    ///
    /// ```swift
    /// do {
    ///     _ = try PropertyList(parsing: Array("[1,\n2 3]".utf8))
    /// } catch {
    ///     if case .line(let line, let column) = error.location { print(line, column) }  // 2 3
    /// }
    /// ```
    public enum Location: Sendable, Hashable {
        /// Bytes from the start of the file.
        case offset(Int)
        /// Counted from 1; the column in characters.
        case line(Int, column: Int)
    }

    /// The kind of fault, for a program to decide by.
    public var code: Code
    /// The error's text, without path and location.
    package var words: ErrorWords
    /// The path of the value at fault; empty for the root, or where no tree exists yet.
    public var path: PropertyListPath
    /// The position in the file, when there is a file.
    public var location: Location?

    /// An error with its path and location, for code that makes or checks trees itself.
    ///
    /// - Parameters:
    ///   - code: the kind of fault.
    ///   - message: what was expected and what was found, without path and location, which ``description`` adds.
    ///   - path: the path of the value at fault.
    ///   - location: the position in the file.
    public init(_ code: Code, _ message: String, at path: PropertyListPath = [], location: Location? = nil) {
        self.init(code, ErrorWords(message), at: path, location: location)
    }

    package init(_ code: Code, _ words: ErrorWords, at path: PropertyListPath = [], location: Location? = nil) {
        self.code = code
        self.words = words
        self.path = path
        self.location = location
    }

    /// What was expected and what was found, without path and location.
    public var message: String {
        get { words.description }
        set { words = ErrorWords(newValue) }
    }
}

/// An error's text, in the two parts before and behind the path in its message.
package struct ErrorWords: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringInterpolation {
    /// What was expected, or the fault: `Expected Dictionary`.
    package var subject: String
    /// What was found, and the advice: `, found String`; empty without them.
    package var finding = ""

    /// `Expected Dictionary, found String; remove it first`.
    package static func expected(_ expected: String, found: String, advice: String? = nil) -> ErrorWords {
        var words: ErrorWords = "Expected \(expected)"
        words.finding = ", found \(found)" + (advice.map { "; \($0)" } ?? "")
        return words
    }

    /// `XML cannot hold a control character; a binary store can`.
    package static func wrong(_ subject: String, advice: String) -> ErrorWords {
        var words = ErrorWords(stringLiteral: subject)
        words.finding = "; \(advice)"
        return words
    }

    /// A message whose path stands at its end.
    package init(stringLiteral text: String) { subject = text }

    /// A program's message, in one piece: the part from `, found ` or `; ` on, outside of quotes, goes behind the path.
    package init(_ message: String) {
        var isQuoted = false
        let start = message.utf8.indices.first { index in
            if message.utf8[index] == UInt8(ascii: "\"") { isQuoted.toggle() }
            let rest = message.utf8[index...]
            return !isQuoted && (rest.starts(with: ", found ".utf8) || rest.starts(with: "; ".utf8))
        }
        subject = String(message[..<(start ?? message.endIndex)])
        finding = String(message[(start ?? message.endIndex)...])
    }

    package var description: String { subject + finding }

    /// The text with the path in it: `Expected Dictionary at window.tags[2], found String`; the text alone for the
    /// empty path.
    package func message(at path: PropertyListPath, firstIndex: Int) -> String {
        guard !path.isEmpty else { return description }
        return "\(subject) at \(path.description(root: "", firstIndex: firstIndex))\(finding)"
    }
}

extension PropertyListError: CustomStringConvertible {
    public var description: String { message(firstIndex: 0) }

    /// The whole message, with path and location: `Expected Dictionary at window.tags[2], found String`.
    ///
    /// - Parameter firstIndex: the index of an array's first element, for languages that count from 1.
    public func message(firstIndex: Int) -> String {
        words.message(at: path, firstIndex: firstIndex) + locationText
    }

    /// The position in the file, for the end of a message; empty without a file.
    package var locationText: String {
        switch location {
        case .offset(let offset): " (byte \(offset))"
        case .line(let line, let column): " (line \(line), column \(column))"
        case nil: ""
        }
    }
}

extension PropertyListError: LocalizedError {
    /// The whole message, so that `localizedDescription` names the fault.
    public var errorDescription: String? { description }
}
