internal import Glibc
internal import PropertyLists

/// Threads of the library's own, which run until they return.
package final class BackgroundThread: Sendable {
    private let body: @Sendable () -> Void

    private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Runs `body` on a thread of its own; false where the system gives none, as under a limit on processes.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // The host's signal handlers are for the host's threads.
        var all = sigset_t()
        var old = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &old)
        defer {
            pthread_sigmask(SIG_SETMASK, &old, nil)
            pthread_attr_destroy(&attributes)
        }
        let context = Unmanaged.passRetained(BackgroundThread(body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, &attributes,
            { context in
                if let context { Unmanaged<BackgroundThread>.fromOpaque(context).takeRetainedValue().body() }
                return nil
            }, context.toOpaque())
        if status != 0 { context.release() }
        return status == 0
    }
}
