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
    /// What was expected and what was found, without the place.
    public var message: String
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
        self.code = code
        self.message = message
        self.path = path
        self.location = location
    }
}

extension PropertyListError: CustomStringConvertible {
    public var description: String { message(firstIndex: 0) }

    /// The whole message, with its places: `Expected Dictionary at window.tags[2], found String`.
    ///
    /// - Parameter firstIndex: what the indexes of arrays are counted from, for languages that count from 1.
    public func message(firstIndex: Int) -> String {
        var text = path.placed(in: message, firstIndex: firstIndex)
        switch location {
        case .offset(let offset): text += " (byte \(offset))"
        case .line(let line, let column): text += " (line \(line), column \(column))"
        case nil: break
        }
        return text
    }
}

extension PropertyListError: LocalizedError {
    /// The whole message, so that `localizedDescription` says what was wrong.
    public var errorDescription: String? { description }
}
