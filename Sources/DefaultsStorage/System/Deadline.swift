internal import CKVSystem
internal import Glibc

/// A point in time on the monotonic clock.
struct Deadline: Sendable, Comparable {
    private var nanoseconds: Int64

    /// The time `interval` from now; an interval below 0 has passed already.
    static func after(_ interval: Duration) -> Deadline {
        let (seconds, attoseconds) = interval.components
        let (whole, isLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isLonger) = cs_monotonic_nanoseconds().addingReportingOverflow(whole)
        let (result, isLongest) = sum.addingReportingOverflow(attoseconds / 1_000_000_000)
        // Too far to count: some time in the next centuries.
        guard !isLong, !isLonger, !isLongest else { return Deadline(nanoseconds: seconds < 0 ? 0 : Int64.max) }
        return Deadline(nanoseconds: max(result, 0))
    }

    var hasPassed: Bool { cs_monotonic_nanoseconds() >= nanoseconds }

    /// Nanoseconds until then; 0 where it has passed.
    var remaining: Int64 { max(nanoseconds.subtractingReportingOverflow(cs_monotonic_nanoseconds()).partialValue, 0) }

    var timespec: timespec {
        Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }

    static func earlier(_ left: Deadline, _ right: Deadline) -> Deadline {
        min(left, right)
    }

    /// Sleeps for `interval`, but not past the deadline.
    func sleep(_ interval: Duration) {
        let wanted = Deadline.earlier(self, .after(interval))
        var time = wanted.timespec
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil)
    }
}
