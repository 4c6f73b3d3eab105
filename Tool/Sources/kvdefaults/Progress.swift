import DomainAccess
import Glibc
import KVCodable
import Synchronization

/// A bar on a person's terminal for work of more than a second, which moves, with the seconds; nothing anywhere
/// else.
///
/// A thread of its own draws it, since the work is in calls that take as long as they take: most of it is the reading of
/// one file and the writing of another, whose progress is not known.
final class Progress: Sendable {
    private let title: String
    private let isOver = Atomic(false)

    private init(_ title: String) { self.title = title }

    /// Runs `body`, and shows that it runs.
    static func shown<Result>(_ title: String, _ body: () throws -> Result) rethrows -> Result {
        let progress = Progress(title)
        guard Terminal.isError, let thread = progress.start() else { return try body() }
        defer {
            progress.isOver.store(true, ordering: .releasing)
            pthread_join(thread, nil)
        }
        return try body()
    }

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
                write("\r\(title) \(Self.bar(elapsed)) \(elapsed.components.seconds) s\u{1B}[K", to: STDERR_FILENO)
                hasDrawn = true
            }
            usleep(50_000)
        }
        if hasDrawn { write("\r\u{1B}[K", to: STDERR_FILENO) }
    }

    /// A mark that goes from one end of the bar to the other and back, in three seconds each way.
    private static func bar(_ elapsed: Duration) -> String {
        let (width, mark) = (30, 6)
        let step = Int(elapsed / .milliseconds(125)) % (2 * (width - mark))
        let start = min(step, 2 * (width - mark) - step)
        return "[" + String(repeating: ".", count: start) + String(repeating: "#", count: mark)
            + String(repeating: ".", count: width - mark - start) + "]"
    }
}
