internal import Glibc
public import KVCodable

/// An end of the program that is told in one line: `kvdefaults: com.example.app: Expected 1...16384 at width, found 0`.
public struct Failure: Error {
    /// The domain or the file; nil where the error is about none.
    public var subject: String?
    /// Nil for a status alone.
    public var message: String?
    public var status: Int32 = 2
    /// Where in a file it is; nil where that is not known.
    public var location: PropertyListError.Location?
    /// The path of the value; nil where the error is about none.
    public var path: PropertyListPath?

    public init(_ message: String, of subject: String? = nil) {
        self.message = message
        self.subject = subject
    }

    /// An error of the library.
    ///
    /// - Parameter type: the domain's, whose secrets are not told.
    public init(_ error: any Error, of subject: String, _ type: CodableType? = nil) {
        self.init(words(of: error, type), of: subject)
        switch error {
        case let error as PropertyListError: (location, path) = (error.location, error.path)
        case let error as TypeError: (location, path) = (error.location, error.isAboutType ? nil : error.path)
        case let error as DefaultsError: location = error.location
        default: break
        }
    }

    /// There is nothing at the path, which a script sees by the status; people read why.
    public static func absent(_ message: String, of subject: String) -> Failure {
        var failure = Failure(message, of: subject)
        failure.status = 1
        return failure
    }

    public static let differing: Failure = {
        var failure = Failure("")
        (failure.message, failure.status) = (nil, 1)
        return failure
    }()

    /// A status of 2 behind lines that were written already.
    public static let told: Failure = {
        var failure = Failure("")
        failure.message = nil
        return failure
    }()

    public func report() {
        guard let message else { return }
        writeError("kvdefaults: " + (subject.map { "\($0): " } ?? "") + message)
    }
}

/// The text of an error of the library: in the words of the type language, as the domain's user knows it.
///
/// - Parameter type: the domain's, whose secrets are not in the text.
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
    /// Whether the error is about the contents of a file, so that its text may quote it.
    fileprivate var isInContents: Bool { location != nil || code == .corrupt && !path.isEmpty }

    /// The error without anything of the file: a damaged one does not tell which of its values are secrets.
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
    /// Whether the error is about a value that has not the shape of its type, where the type has secrets in it.
    fileprivate func isAboutSecrets(of type: CodableType) -> Bool {
        code == .mismatch && type.member(at: path).map { Values.holdsSecrets($0.type) } ?? false
    }

    /// The error without the value that was found, in the words of the type language.
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

/// Runs `body`; an error in it that is about no other is told for the domain or file.
///
/// - Parameter type: the domain's, whose secrets are not told.
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

public func writeError(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

/// Writes behind the text printed before.
@discardableResult
public func write(_ text: String, to descriptor: Int32) -> Int32 { write(Array(text.utf8), to: descriptor) }

/// Writes all of it; gives the number of the error that was in the way, and 0 for none.
@discardableResult
public func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    fflush(nil)
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count >= 0 {
            rest = rest.dropFirst(count)
        } else if errno == EAGAIN {
            // A pipe that another program has made one that does not wait.
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&entry, 1, -1)
        } else if errno != EINTR {
            return errno
        }
    }
    return 0
}
