internal import Glibc
internal import PropertyLists

/// The lock files that this process has open. A child closes them, whatever its parent's threads were doing with them:
/// a child that outlives its parent would keep the lock for ever.
///
/// `@unchecked Sendable`: the state is guarded by `lock`, which is held across an open and a close, so that no fork comes
/// between one and its being noted.
final class OpenLocks: @unchecked Sendable {
    static let shared = OpenLocks()

    let lock = Lock()
    private var numbers: Set<Int32> = []

    /// Opens a lock file, or makes it; nil where there is none and none is to be made.
    func open(_ name: String, in folder: StoreFolder, _ flags: Int32) throws(DefaultsError) -> FileDescriptor? {
        try lock.withLock { () throws(DefaultsError) in
            let file = try folder.openFile(name, flags, mode: 0o600)
            if let file { numbers.insert(file.number) }
            return file
        }
    }

    func close(_ file: FileDescriptor) {
        lock.withLock {
            numbers.remove(file.number)
            file.abandon()
        }
    }

    /// In a child process.
    func resetAfterFork() {
        lock.resetAfterFork()
        for number in numbers { Glibc.close(number) }
        numbers = []
    }
}
