internal import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import KVCodable
internal import PropertyLists

// The errors of each room, in the terms of the header.

extension Failure {
    init(_ error: PropertyListError) {
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
    init(_ error: TypeError) {
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
    init(_ error: DefaultsError) {
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
        case .unreachable: KV_UNREACHABLE
        case .unavailable: KV_UNSUPPORTED
        case .misuse: KV_MISUSE
        }
    }
}
