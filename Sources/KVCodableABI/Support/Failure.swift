internal import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import KVCodable
internal import PropertyLists

/// Any room's error in the terms of the header.
struct Failure: Error {
    var status: kv_status
    var path: PropertyListPath
    var location: PropertyListError.Location?
    /// The file that the message names.
    var file: String?
    /// Whether the message names the store's file.
    private var namesFile = true
    private var text: @Sendable (Shown) -> String

    /// The parts of an error that its message is to show.
    struct Shown {
        var path: PropertyListPath
        /// The index of an array's first element.
        var firstIndex: Int
        var namesFile: Bool
    }

    /// The whole message, with indexes counted from the number given.
    func message(firstIndex: Int) -> String {
        text(Shown(path: path, firstIndex: firstIndex, namesFile: namesFile))
    }

    init(
        _ status: kv_status, at path: PropertyListPath, location: PropertyListError.Location? = nil,
        text: @escaping @Sendable (Shown) -> String
    ) {
        self.status = status
        self.path = path
        self.location = location
        self.text = text
    }

    /// An error whose message is complete without the path.
    init(_ status: kv_status, _ message: String, at path: PropertyListPath = []) {
        self.init(status, at: path) { _ in message }
    }

    /// The error of a NULL, or of a string that is not UTF-8.
    static func invalidArgument(_ message: String) -> Failure { Failure(KV_INVALID_ARGUMENT, message) }

    /// The one initializer that turns the error of any room into one of the header's.
    init(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as PropertyListError: self.init(error)
        case let error as DefaultsError: self.init(error)
        case let error as TypeError: self.init(error)
        default: self.init(KV_INVALID_VALUE, "\(error)")
        }
    }
}

extension Failure {
    /// The same for a reader that sees the values below `root` alone: the path begins there, and is left out for a
    /// value elsewhere; the store's file has no name.
    func confined(to root: PropertyListPath) -> Failure {
        var failure = self
        let isBelow = path.steps.starts(with: root.steps)
        failure.path = PropertyListPath(isBelow ? Array(path.steps.dropFirst(root.steps.count)) : [])
        failure.namesFile = false
        failure.file = nil
        return failure
    }

    /// The same of what is in a file, which the message names behind the rest.
    func inFile(_ path: String) -> Failure {
        var failure = self
        failure.file = path
        failure.text = { [text] shown in "\(text(shown)) (\(path))" }
        return failure
    }

    /// The same for a value that was to be set at `prefix`.
    func placed(below prefix: PropertyListPath) -> Failure {
        var failure = self
        failure.path = prefix.appending(path)
        return failure
    }
}

/// Runs `body`, and turns an error that it throws into a status and, where the program asked for one, a `kv_error`.
func reporting(
    _ error: UnsafeMutablePointer<OpaquePointer?>?, _ body: () throws -> kv_status
) -> kv_status {
    error?.pointee = nil
    do {
        return try body()
    } catch let thrown {
        let failure = Failure(thrown)
        error?.pointee = Handle.give(ErrorHandle(failure))
        return failure.status
    }
}

/// The object behind a handle that must not be NULL.
func require<Object: AnyObject>(
    _ handle: OpaquePointer?, _ type: Object.Type, _ name: String
) throws(Failure) -> Object {
    guard let object = Handle.borrow(handle, as: type) else { throw .invalidArgument("\(name) is NULL") }
    return object
}

// MARK: - The errors of each room, in the terms of the header

extension Failure {
    private init(_ error: PropertyListError) {
        let status =
            switch error.code {
            case .malformed: KV_MALFORMED
            case .invalidValue: KV_INVALID_VALUE
            case .limitExceeded: KV_LIMIT_EXCEEDED
            case .pathMismatch: KV_PATH_MISMATCH
            case .misuse: KV_MISUSE
            }
        self.init(status, at: error.path, location: error.location) { shown in
            var error = error
            error.path = shown.path
            return error.message(firstIndex: shown.firstIndex)
        }
    }
}

extension Failure {
    /// In the words of the type language: C and Lua have no Swift types.
    private init(_ error: TypeError) {
        let status =
            if error.code == .limitExceeded {
                KV_LIMIT_EXCEEDED
            } else {
                error.isAboutType ? KV_INVALID_TYPE : KV_TYPE_MISMATCH
            }
        self.init(status, at: error.path, location: error.location) { shown in
            var error = error.inTypeLanguage
            error.path = shown.path
            return error.message(firstIndex: shown.firstIndex)
        }
        file = error.file
    }
}

extension Failure {
    private init(_ error: DefaultsError) {
        if let cause = error.cause as? TypeError {
            self.init(cause)
            return
        }
        self.init(Self.status(of: error.code), at: error.path, location: error.location) { shown in
            var error = shown.namesFile ? error : error.withoutFile()
            error.path = shown.path
            return error.message(firstIndex: shown.firstIndex)
        }
        file = error.file
    }

    private static func status(of code: DefaultsError.Code) -> kv_status {
        switch code {
        case .invalidName: KV_INVALID_NAME
        case .invalidValue: KV_INVALID_VALUE
        case .limitExceeded: KV_LIMIT_EXCEEDED
        case .pathMismatch: KV_PATH_MISMATCH
        case .readOnly: KV_READ_ONLY
        case .forced: KV_FORCED
        case .refused: KV_REFUSED
        case .typeMismatch: KV_TYPE_MISMATCH
        case .closed: KV_CLOSED
        case .corrupt: KV_CORRUPT
        case .accessDenied: KV_ACCESS_DENIED
        case .noSpace: KV_NO_SPACE
        case .io: KV_IO
        case .unsafeLocation: KV_UNSAFE_LOCATION
        case .timedOut: KV_TIMED_OUT
        case .conflict: KV_CONFLICT
        case .rolledBack: KV_ROLLED_BACK
        case .outcomeUnknown: KV_OUTCOME_UNKNOWN
        case .migration: KV_MIGRATION
        case .unavailable: KV_UNSUPPORTED
        case .misuse: KV_MISUSE
        }
    }
}
