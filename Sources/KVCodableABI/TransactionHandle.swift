internal import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import PropertyLists

/// What a `kv_transaction` points to. A `kv_store` points to the `DefaultsStore` itself.
final class TransactionHandle {
    let transaction: DefaultsTransaction

    init(_ transaction: DefaultsTransaction) {
        self.transaction = transaction
    }
}

extension Failure {
    init(_ error: DefaultsError) {
        self.init(Self.status(of: error.code), error.description)
        if let cause = error.cause as? TypeError { self.init(cause) }
        path = error.path
        text = { error.message(firstIndex: $0) }
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
        case .migration: KV_MIGRATION
        case .unavailable: KV_UNSUPPORTED
        case .misuse: KV_MISUSE
        }
    }
}
