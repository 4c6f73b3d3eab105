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
    /// The error's text in parts, without path and location.
    package var words: ErrorWords
    /// The path of the value at fault; empty for the root, or where no tree exists yet.
    public var path: PropertyListPath
    /// The position in the file, when there is a file.
    public var location: Location?

    /// An error with its path and location, for code that makes or checks trees itself.
    ///
    /// - Parameters:
    ///   - code: the kind of fault.
    ///   - message: the fault, without path and location, which ``description`` puts behind it.
    ///   - path: the path of the value at fault.
    ///   - location: the position in the file.
    public init(_ code: Code, _ message: String, at path: PropertyListPath = [], location: Location? = nil) {
        self.init(code, ErrorWords(fault: message), at: path, location: location)
    }

    package init(_ code: Code, _ words: ErrorWords, at path: PropertyListPath = [], location: Location? = nil) {
        self.code = code
        self.words = words
        self.path = path
        self.location = location
    }

    /// The error of an index that no element of an array has. The text has no index: some languages count from 1.
    package static func noElement(at path: PropertyListPath) -> PropertyListError {
        PropertyListError(
            .pathMismatch, .expected("an element of the array or the place behind the last", found: "none"), at: path)
    }

    /// What was expected and what was found, without path and location. A message that is set stays one piece.
    public var message: String {
        get { words.description }
        set { words = ErrorWords(fault: newValue) }
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
