import DomainAccess
import Glibc
import KVCodable
import Synchronization

/// A bar on a person's terminal for what takes longer than a second; nothing anywhere else.
///
/// A thread of its own draws it, since the work is in calls that take as long as they take.
final class Progress: Sendable {
    private let title: String
    private let total: Int
    private let done = Atomic(0)
    private let isOver = Atomic(false)

    private init(_ title: String, of total: Int) {
        self.title = title
        self.total = total
    }

    /// Runs `body`, which says how far it is.
    ///
    /// - Parameter total: what `advance()` counts up to; 0 for what cannot be counted, whose seconds are shown.
    static func shown<Result>(_ title: String, of total: Int, _ body: (Progress) throws -> Result) rethrows -> Result {
        let progress = Progress(title, of: total)
        guard Terminal.isError, let thread = progress.start() else { return try body(progress) }
        defer {
            progress.isOver.store(true, ordering: .releasing)
            pthread_join(thread, nil)
        }
        return try body(progress)
    }

    func advance() { done.add(1, ordering: .relaxed) }

    private func start() -> pthread_t? {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Progress>.fromOpaque(context).takeRetainedValue().draw() }
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            return nil
        }
        return thread
    }

    private func draw() {
        let start = ContinuousClock.now
        var hasDrawn = false
        while !isOver.load(ordering: .acquiring) {
            let elapsed = ContinuousClock.now - start
            if elapsed > .seconds(1) {
                write("\r\(line(elapsed))\u{1B}[K", to: STDERR_FILENO)
                hasDrawn = true
            }
            usleep(50_000)
        }
        if hasDrawn { write("\r\u{1B}[K", to: STDERR_FILENO) }
    }

    private func line(_ elapsed: Duration) -> String {
        let done = self.done.load(ordering: .relaxed)
        guard total > 0 else { return "\(title)… \(elapsed.components.seconds) s" }
        let width = 30
        let filled = min(done, total) * width / total
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        return "\(title) [\(bar)] \(min(done, total) * 100 / total) %"
    }
}
