internal import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import PropertyLists

/// Any room's error in the terms of the header.
struct Failure: Error {
    var status: kv_status
    var path: PropertyListPath = []
    var location: PropertyListError.Location?
    /// The whole message, with indexes counted from the number given.
    var text: @Sendable (_ firstIndex: Int) -> String

    func message(firstIndex: Int) -> String { text(firstIndex) }

    init(_ status: kv_status, _ message: String) {
        self.status = status
        text = { _ in message }
    }

    /// What a NULL, or a string that is not UTF-8, gives.
    static func invalidArgument(_ message: String) -> Failure { Failure(KV_INVALID_ARGUMENT, message) }

    /// The one place where an error of a room becomes one of the header's.
    init(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as PropertyListError: self.init(error)
        case let error as DefaultsError: self.init(error)
        case let error as TypeError: self.init(error)
        default: self.init(KV_INVALID_VALUE, "\(error)")
        }
    }

    private init(_ error: PropertyListError) {
        switch error.code {
        case .malformed: status = KV_MALFORMED
        case .invalidValue: status = KV_INVALID_VALUE
        case .limitExceeded: status = KV_LIMIT_EXCEEDED
        case .pathMismatch: status = KV_PATH_MISMATCH
        case .misuse: status = KV_MISUSE
        }
        path = error.path
        location = error.location
        text = { error.message(firstIndex: $0) }
    }
}

/// Runs `body`, and turns what it throws into a status and, where the program asked for one, a `kv_error`.
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

/// Runs `body` with the object behind a handle that must not be NULL, without counting a reference.
@inline(__always)
func withRequired<Object: AnyObject>(
    _ handle: OpaquePointer?, _ type: Object.Type, _ name: String, _ body: (Object) throws -> kv_status
) throws -> kv_status {
    guard let handle else { throw Failure.invalidArgument("\(name) is NULL") }
    return try Handle.lend(handle, as: type, body)
}

/// The object behind a handle that must not be NULL.
func require<Object: AnyObject>(
    _ handle: OpaquePointer?, _ type: Object.Type, _ name: String
) throws(Failure) -> Object {
    guard let object = Handle.borrow(handle, as: type) else { throw .invalidArgument("\(name) is NULL") }
    return object
}
