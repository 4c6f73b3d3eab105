internal import Foundation
internal import Synchronization

private let environmentLock = Mutex(())

/// Calls `body` while the process's environment has other values; one caller at a time.
///
/// A variable is not removed afterwards, but made empty: another thread may be in getenv, for which only a replaced
/// value is safe.
public func withEnvironment<Result>(_ changes: [String: String], _ body: () throws -> Result) rethrows -> Result {
    try environmentLock.withLock { _ in
        for (name, value) in changes { setenv(name, value, 1) }
        defer { for name in changes.keys { setenv(name, "", 1) } }
        return try body()
    }
}
