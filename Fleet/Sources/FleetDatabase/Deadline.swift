/// A point in time on the monotonic clock.
package struct Deadline: Sendable, Comparable {
    private let instant: SuspendingClock.Instant

    /// The time `interval` from now. An interval below 0 has passed already.
    package static func after(_ interval: Duration) -> Deadline {
        // A century is enough, and the sum cannot overflow.
        let century = Duration.seconds(3_155_760_000)
        return Deadline(instant: .now.advanced(by: min(max(interval, .zero), century)))
    }

    package var hasPassed: Bool { remaining <= .zero }

    /// The time until the deadline; zero if it has passed.
    package var remaining: Duration { max(SuspendingClock.now.duration(to: instant), .zero) }

    package static func < (left: Deadline, right: Deadline) -> Bool { left.instant < right.instant }
}
