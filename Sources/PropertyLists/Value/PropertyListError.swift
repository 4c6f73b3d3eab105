public import FoundationEssentials

/// What this room reports: what was wrong, and where.
public struct PropertyListError: Error, Sendable, Hashable {
    /// What kind of thing is wrong.
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

    /// Where in a file the error lies.
    public enum Location: Sendable, Hashable {
        /// Bytes from the start of the file.
        case offset(Int)
        /// Counted from 1; the column in characters.
        case line(Int, column: Int)
    }

    /// What kind of thing is wrong, for a program to go by.
    public var code: Code
    /// What the error says, without the places.
    package var words: ErrorWords
    /// The place in the tree; empty for the root, or where no tree exists yet.
    public var path: PropertyListPath
    /// The place in the file, when there is a file.
    public var location: Location?

    /// An error with its places, for code that makes or checks trees itself.
    ///
    /// - Parameters:
    ///   - code: what kind of thing is wrong.
    ///   - message: what was expected and what was found, without the places, which ``description`` puts to it.
    ///   - path: the place in the tree.
    ///   - location: the place in the file.
    public init(_ code: Code, _ message: String, at path: PropertyListPath = [], location: Location? = nil) {
        self.init(code, ErrorWords(message), at: path, location: location)
    }

    package init(_ code: Code, _ words: ErrorWords, at path: PropertyListPath = [], location: Location? = nil) {
        self.code = code
        self.words = words
        self.path = path
        self.location = location
    }

    /// What was expected and what was found, without the place.
    public var message: String {
        get { words.description }
        set { words = ErrorWords(newValue) }
    }
}

/// What an error says, in the two parts that stand before and behind its path in a message.
package struct ErrorWords: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringInterpolation {
    /// What was expected, or what is wrong: `Expected Dictionary`.
    package var subject: String
    /// What was found, and what is advised: `, found String`; empty for nothing.
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

    /// The message of a program, in one piece: what begins with `, found ` or `; ` goes behind the path.
    package init(_ message: String) {
        let start = message.utf8.indices.first {
            message.utf8[$0...].starts(with: ", found ".utf8) || message.utf8[$0...].starts(with: "; ".utf8)
        }
        subject = String(message[..<(start ?? message.endIndex)])
        finding = String(message[(start ?? message.endIndex)...])
    }

    package var description: String { subject + finding }

    /// The words with their place: `Expected Dictionary at window.tags[2], found String`; without one for the empty path.
    package func message(at path: PropertyListPath, firstIndex: Int) -> String {
        guard !path.isEmpty else { return description }
        return "\(subject) at \(path.description(root: "", firstIndex: firstIndex))\(finding)"
    }
}

extension PropertyListError: CustomStringConvertible {
    public var description: String { message(firstIndex: 0) }

    /// The whole message, with its places: `Expected Dictionary at window.tags[2], found String`.
    ///
    /// - Parameter firstIndex: what the indexes of arrays are counted from, for languages that count from 1.
    public func message(firstIndex: Int) -> String {
        words.message(at: path, firstIndex: firstIndex) + locationText
    }

    /// Where in a file the error lies, behind all else; empty where it lies in no file.
    package var locationText: String {
        switch location {
        case .offset(let offset): " (byte \(offset))"
        case .line(let line, let column): " (line \(line), column \(column))"
        case nil: ""
        }
    }
}

extension PropertyListError: LocalizedError {
    /// The whole message, so that `localizedDescription` says what was wrong.
    public var errorDescription: String? { description }
}
