internal import PropertyLists

/// The error of a property's last read or set; nil where that had none.
final class LastFailure: Sendable {
    /// Guarded by ``Lock/shared``.
    private nonisolated(unsafe) var content: (any Error)?

    var error: (any Error)? { Lock.shared.withLock { content } }

    /// Runs `body`; nil when it throws.
    func noting<Result>(_ body: () throws -> Result?) -> Result? {
        do {
            let result = try body()
            note(nil)
            return result
        } catch {
            note(error)
            return nil
        }
    }

    private func note(_ error: (any Error)?) {
        // The old error is released after the lock.
        _ = Lock.shared.withLock {
            defer { content = error }
            return content
        }
    }
}
