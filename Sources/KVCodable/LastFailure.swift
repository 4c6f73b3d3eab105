internal import Synchronization

/// What was wrong the last time.
final class LastFailure: Sendable {
    private let content = Mutex<(any Error)?>(nil)

    var error: (any Error)? { content.withLock { $0 } }

    /// Runs `body`; nil when it throws.
    func noting<Result>(_ body: () throws -> Result?) -> Result? {
        do {
            let result = try body()
            content.withLock { $0 = nil }
            return result
        } catch {
            content.withLock { $0 = error }
            return nil
        }
    }
}
