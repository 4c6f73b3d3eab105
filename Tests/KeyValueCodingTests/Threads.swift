#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Threads of the system, which run at the same time whatever a pool of tasks would do.
enum Threads {
    /// Runs `body` on each of `count` threads, all of which start together; gives what it returned, nil for an error.
    ///
    /// - Parameter stackSize: the bytes of a thread's stack; nil for the system's own choice.
    static func run<Result: Sendable>(
        _ count: Int, stackSize: Int? = nil, _ body: @escaping @Sendable () throws -> Result
    ) async -> [Result?] {
        await withTaskGroup(of: Result?.self) { group in
            let gate = Gate(count)
            for _ in 0..<count {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        start(stackSize) {
                            gate.wait()
                            continuation.resume(returning: try? body())
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private final class Work {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private static func start(_ stackSize: Int?, _ body: @escaping @Sendable () -> Void) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(body))
        let failure = pthread_create(
            &thread, &attributes,
            { work in
                if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
                return nil
            }, work.toOpaque())
        if failure == 0 { pthread_detach(thread) } else { work.takeRetainedValue().body() }
    }

    /// Lets no thread through until all are there. `@unchecked Sendable` holds: the barrier is the system's.
    private final class Gate: @unchecked Sendable {
        private let barrier = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)

        init(_ count: Int) { pthread_barrier_init(barrier, nil, UInt32(count)) }

        deinit {
            pthread_barrier_destroy(barrier)
            barrier.deallocate()
        }

        func wait() { pthread_barrier_wait(barrier) }
    }
}
