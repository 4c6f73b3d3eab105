internal import Glibc
public import KVCodable

/// An error that ends the program with one line: `kvdefaults: com.example.app: Expected 1...16384 at width, found 0`.
public struct Failure: Error {
    /// The domain or file with the error; nil for an error without one.
    public var subject: String?
    /// The text of the error; nil if the program ends with a status alone.
    public var message: String?
    public var status: Int32 = 2
    /// The place of the error in a file; nil if the place is unknown.
    public var location: PropertyListError.Location?
    /// The path of the value with the error; nil for an error without one.
    public var path: PropertyListPath?

    public init(_ message: String, of subject: String? = nil) {
        self.message = message
        self.subject = subject
    }

    /// An error of the library.
    ///
    /// - Parameter type: the type of the domain. Its secrets are left out of the text.
    public init(_ error: any Error, of subject: String, _ type: CodableType? = nil) {
        self.init(words(of: error, type), of: subject)
        switch error {
        case let error as PropertyListError: (location, path) = (error.location, error.path)
        case let error as TypeError: (location, path) = (error.location, error.isAboutType ? nil : error.path)
        case let error as DefaultsError: location = error.location
        default: break
        }
    }

    /// A value, store or type that does not exist: status 1.
    public static func absent(_ message: String, of subject: String) -> Failure {
        var failure = Failure(message, of: subject)
        failure.status = 1
        return failure
    }

    /// Status 1 without a text: `diff` found differences.
    public static let differing: Failure = {
        var failure = Failure("")
        (failure.message, failure.status) = (nil, 1)
        return failure
    }()

    /// Status 2 without a text: the errors are printed already.
    public static let told: Failure = {
        var failure = Failure("")
        failure.message = nil
        return failure
    }()

    /// Prints the error to standard error.
    public func report() {
        guard let message else { return }
        writeError("kvdefaults: " + (subject.map { "\($0): " } ?? "") + message)
    }
}

/// The text of an error of the library, in the words of the type language.
///
/// - Parameter type: the type of the domain. Its secrets are left out of the text.
public func words(of error: any Error, _ type: CodableType? = nil) -> String {
    if let failure = error as? Failure { return failure.message ?? "" }
    if let error = error as? TypeError {
        let plain = error.inTypeLanguage
        let isSecret = type.map { Values.isSecret(error.path, of: $0) || error.isAboutSecrets(of: $0) } ?? false
        return (isSecret ? plain.withoutValue : plain).message(firstIndex: 0)
    }
    if let error = error as? DefaultsError, let cause = error.cause as? TypeError { return words(of: cause, type) }
    if let error = error as? DefaultsError, error.isInContents, let type, Values.holdsSecrets(type) {
        return "\(error.withoutContents)"
    }
    return "\(error)"
}

extension DefaultsError {
    /// Whether the error is about the contents of a file. Its text may quote them.
    fileprivate var isInContents: Bool { location != nil || code == .corrupt && !path.isEmpty }

    /// The error without the contents of the file: in a damaged file any value may be a secret.
    fileprivate var withoutContents: DefaultsError {
        let position =
            switch location {
            case .line(let line, let column): " (line \(line), column \(column))"
            case .offset(let offset): " (byte \(offset))"
            case nil: ""
            }
        return DefaultsError(code, "The file is damaged; what is there may be a secret\(position)", file: file)
    }
}

extension TypeError {
    /// Whether the error is about a value with the wrong shape for a type that holds secrets.
    fileprivate func isAboutSecrets(of type: CodableType) -> Bool {
        code == .mismatch && type.member(at: path).map { Values.holdsSecrets($0.type) } ?? false
    }

    /// The error without the value that was found.
    fileprivate var withoutValue: TypeError {
        var error = self
        switch code {
        case .mismatch, .notRepresentable: error.finding = ""
        case .unknownField: (error.subject, error.finding) = ("Expected \(subject)", "")
        default: break
        }
        return error
    }
}

/// Runs `body`, and throws its errors as failures of `subject`, unless they name another subject.
///
/// - Parameter type: the type of the domain. Its secrets are left out of the text.
public func about<Result>(
    _ subject: String, _ type: CodableType? = nil, _ body: () throws -> Result
) throws -> Result {
    do {
        return try body()
    } catch var failure as Failure {
        failure.subject = failure.subject ?? subject
        throw failure
    } catch {
        throw Failure(error, of: subject, type)
    }
}

/// Writes a line to standard error.
public func writeError(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

/// Writes a text after everything that is printed already.
@discardableResult
public func write(_ text: String, to descriptor: Int32) -> Int32 { write(Array(text.utf8), to: descriptor) }

/// Writes all bytes. The result is an error number, or 0.
@discardableResult
public func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    fflush(nil)
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count >= 0 {
            rest = rest.dropFirst(count)
        } else if errno == EAGAIN {
            // Another program has made the pipe non-blocking.
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&entry, 1, -1)
        } else if errno != EINTR {
            return errno
        }
    }
    return 0
}
