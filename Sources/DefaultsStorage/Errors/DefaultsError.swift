internal import CKVSystem
public import FoundationEssentials
internal import Glibc
public import PropertyLists

/// An error of a store, with its kind, the path of the value, and the file.
///
/// ```swift
/// do {
///     try store.set(stored, forKey: "window")
/// } catch where error.code == .refused || error.code == .typeMismatch {
///     print(error.path, error.message)  // for the user; any other error goes on
/// }
/// ```
public struct DefaultsError: Error, Sendable, Hashable {
    /// The kinds of errors, for a program to decide by.
    ///
    /// ```swift
    /// func mayTryAgain(_ error: DefaultsError) -> Bool {
    ///     [DefaultsError.Code.timedOut, .conflict].contains(error.code)
    /// }
    /// ```
    public enum Code: Sendable, Hashable {
        /// A store's name of which a part between slashes is empty, begins with a dot, or holds `..` or NUL.
        case invalidName
        /// A value that the store's file could not hold, or a root that is no dictionary.
        case invalidValue
        /// Deeper, longer or larger than a store may be.
        case limitExceeded
        /// A path leads through a value that is not the container it names, or past the end of an array.
        case pathMismatch
        /// The handle, the file or the folder does not allow changes.
        case readOnly
        /// The administrator has set the key; see ``DefaultsStore/isForced(_:)``.
        case forced
        /// The program's own check refused the value.
        case refused
        /// The store's schema refused the value; see ``DefaultsError/cause``.
        case typeMismatch
        /// The handle was closed, or the transaction has ended.
        case closed
        /// The file is damaged, and no good copy took its place.
        case corrupt
        /// The system refuses access to the file or its folder.
        case accessDenied
        /// No room on the device, or over a quota or size limit.
        case noSpace
        /// Any other failed system call; see ``DefaultsError/errno``. Nothing of the call is stored.
        case io
        /// A commit failed so late that it may have happened, or may be undone by a power failure: look at the store
        /// before repeating the call. What is stored counts: the store takes up the outcome as soon as it can be told,
        /// and writes nothing before that.
        case outcomeUnknown
        /// Every user may write to the folder, or a symbolic link is not to be trusted.
        case unsafeLocation
        /// Another process or thread kept the store locked for longer than the deadline.
        case timedOut
        /// The store changed since the generation that a compare-and-set named; or a program that knows nothing of our
        /// lock, or removed its file, wrote it since the transaction read it. Nothing is set then.
        case conflict
        /// The process was forked during the transaction, which goes on in the parent alone.
        case rolledBack
        /// A migration step failed, or the store was written by a newer version.
        case migration
        /// An engine's library is not installed, the engine cannot work where the file lies, or the user has no home
        /// folder.
        case unavailable
        /// A call that makes no sense in the store's state, or with its arguments.
        case misuse
    }

    /// The kind of error, for a program to go by.
    public var code: Code
    /// The error's text in parts, without path and file.
    private var words: ErrorWords
    /// The path in the tree; empty for the root, or where the error is about no value.
    public var path: PropertyListPath
    /// The file, when the error is about one.
    public var file: String?
    /// The position in the file, when it is damaged: the message has it, too.
    public var location: PropertyListError.Location?
    /// The system's error number, when a system call failed.
    public var errno: Int32?
    /// The end of the message, for readers that may know where the store is kept: a message of SQLite's with a path.
    var confidential = ""
    private var schemaError: SchemaErrorBox?

    /// The schema's own error, where ``code`` is ``Code/typeMismatch``.
    public var cause: (any DefaultsSchemaError)? { schemaError?.error }

    /// An error of a program's own, for ``DefaultsStore/Options/validation`` or a migration's step to throw.
    ///
    /// - Parameters:
    ///   - code: the kind of error.
    ///   - message: the fault, to which ``description`` adds `path` and `file`.
    ///   - path: the path in the tree, from the root of the store.
    ///   - file: the file that the error is about.
    ///   - errno: the number that a failed system call gave.
    public init(
        _ code: Code, _ message: String, at path: PropertyListPath = [], file: String? = nil, errno: Int32? = nil
    ) {
        self.init(code, ErrorWords(fault: message), at: path, file: file, errno: errno)
    }

    /// An error about a value that is not the expected one: `Expected 0...10 at volume, found 11`.
    ///
    /// - Parameters:
    ///   - code: the kind of error.
    ///   - expected: the value or kind that was expected: `0...10`.
    ///   - found: the value or kind that was found.
    ///   - path: the path in the tree, from the root of the store.
    ///   - file: the file that the error is about.
    public init(
        _ code: Code, expected: String, found: String, at path: PropertyListPath = [], file: String? = nil
    ) {
        self.init(code, .expected(expected, found: found), at: path, file: file)
    }

    package init(
        _ code: Code, _ words: ErrorWords, confidential: String = "", at path: PropertyListPath = [],
        file: String? = nil, errno: Int32? = nil
    ) {
        self.code = code
        self.words = words
        self.confidential = confidential
        self.path = path
        self.file = file
        self.errno = errno
    }

    /// What was expected and what was found, without path and file. A message that is set stays one piece.
    public var message: String {
        get { words.description + confidential }
        set { (words, confidential) = (ErrorWords(fault: newValue), "") }
    }

    /// The error of a schema about a value.
    init(_ error: any DefaultsSchemaError) {
        self.init(.typeMismatch, error.message(firstIndex: 0), at: error.path)
        schemaError = SchemaErrorBox(error: error)
    }
}

/// An error of any type, compared by the `==` of its type.
private struct SchemaErrorBox: Hashable, Sendable {
    let error: any DefaultsSchemaError

    static func == (left: SchemaErrorBox, right: SchemaErrorBox) -> Bool { isSame(left.error, right.error) }

    private static func isSame<Left: DefaultsSchemaError>(_ left: Left, _ right: any DefaultsSchemaError) -> Bool {
        right as? Left == left
    }

    func hash(into hasher: inout Hasher) { error.hash(into: &hasher) }
}

extension DefaultsError: CustomStringConvertible {
    public var description: String { message(firstIndex: 0) }

    /// The whole message, with path and file.
    ///
    /// - Parameter firstIndex: the index of an array's first element, for languages that count from 1.
    public func message(firstIndex: Int) -> String {
        if let cause { return cause.message(firstIndex: firstIndex) }
        let text = words.message(at: path, firstIndex: firstIndex) + confidential
        return file.map { "\(text) (\($0))" } ?? text
    }

    /// This error for a reader that must not learn where the store is kept: "the store" stands for its file, and the
    /// confidential end of the message is left out.
    package func withoutFile() -> DefaultsError {
        var error = self
        error.confidential = ""
        if file != nil { error.file = "the store" }
        return error
    }

    /// The same error with `text` behind its message.
    func followed(by text: String) -> DefaultsError {
        var error = self
        error.words = words.followed(by: text)
        return error
    }
}

extension DefaultsError {
    init(_ error: PropertyListError, below prefix: PropertyListPath = [], file: String? = nil) {
        let code: Code =
            switch error.code {
            case .malformed: .corrupt
            case .invalidValue: .invalidValue
            case .limitExceeded: .limitExceeded
            case .pathMismatch: .pathMismatch
            case .misuse: .misuse
            }
        let words = error.words.followed(by: error.locationText)
        self.init(code, words, at: prefix.appending(error.path), file: file)
        location = error.location
    }

    /// The error of a system call that failed with `number`.
    static func system(_ call: String, _ number: Int32, file: String?) -> DefaultsError {
        let code: Code =
            switch number {
            case ENOSPC, EDQUOT, EFBIG: .noSpace
            case EROFS: .readOnly
            case EACCES, EPERM: .accessDenied
            case ELOOP: .unsafeLocation
            default: .io
            }
        return DefaultsError(code, "\(call): \(text(of: number))", file: file, errno: number)
    }

    /// The error of a commit that may have happened all the same, or may be taken back.
    var leavingOutcomeUnknown: DefaultsError {
        var error = self
        error.code = .outcomeUnknown
        error.words = words.prefixed("The commit failed when it may have been made already: ")
        return error
    }

    /// The error of a folder, a FIFO or a device where a file should be.
    static func noFile(_ path: String) -> DefaultsError {
        DefaultsError(.io, .expected("a file", found: "something else"), file: path)
    }

    private static func text(of number: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard cs_error_text(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
        return buffer.withUnsafeBufferPointer { text in
            String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// Runs `body` and reports its tree errors as the store's, with paths that begin with `prefix`.
    static func translating<Result>(
        below prefix: PropertyListPath = [], file: String? = nil,
        _ body: () throws(PropertyListError) -> Result
    ) throws(DefaultsError) -> Result {
        do throws(PropertyListError) {
            return try body()
        } catch {
            throw DefaultsError(error, below: prefix, file: file)
        }
    }
}

extension DefaultsError: LocalizedError {
    /// The whole message, so that `localizedDescription` has it.
    public var errorDescription: String? { description }
}
