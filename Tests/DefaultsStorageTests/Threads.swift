import Foundation
import Synchronization

/// A value that several threads may change.
final class Box<Value: Sendable>: Sendable {
    private let content: Mutex<Value>
    init(_ value: Value) { content = Mutex(value) }
    var value: Value { content.withLock { $0 } }
    func change(_ body: @Sendable (inout Value) -> Void) { content.withLock { body(&$0) } }
}

/// Runs `body` on a thread of its own, waits for its end, and throws what it threw.
func onAnotherThread(_ body: @escaping @Sendable () throws -> Void) throws {
    let result = Box(Result<Void, any Error>.success(()))
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        let outcome = Result { try body() }
        result.change { $0 = outcome }
        done.signal()
    }
    done.wait()
    try result.value.get()
}

/// Runs `body` on a thread whose memory is free for the next one when this returns.
func onJoinedThread(_ body: @escaping @Sendable () -> Void) {
    final class Body {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }
    var thread = pthread_t()
    let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { body in
        if let body { Unmanaged<Body>.fromOpaque(body).takeRetainedValue().run() }
        return nil
    }
    guard pthread_create(&thread, nil, start, Unmanaged.passRetained(Body(body)).toOpaque()) == 0 else { return }
    pthread_join(thread, nil)
}

/// Makes this thread, and no other, one of user 65534 and group 65533 as far as files are concerned, where it is root's.
func becomeAnotherUser() {
    for (name, number) in [("setfsgid", 65533), ("setfsuid", 65534)] as [(String, UInt32)] {
        guard let call = dlsym(nil, name) else { continue }
        _ = unsafeBitCast(call, to: (@convention(c) (UInt32) -> Int32).self)(number)
    }
}
