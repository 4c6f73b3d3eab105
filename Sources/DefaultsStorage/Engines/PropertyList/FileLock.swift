internal import Glibc

/// The lock that serialises processes: a file `.NAME.lock` beside the store's, locked with flock while it is written.
///
/// Never the data file, which rename swaps; never fcntl's locks, which any close drops; the lock file is never
/// unlinked, since two processes could then hold two locks. A killed holder's lock goes with it.
enum FileLock {
    /// Takes the lock; `waited` says whether another process had it.
    static func acquire(
        _ folder: StoreFolder, until deadline: Deadline
    ) throws(DefaultsError) -> (lock: FileDescriptor, waited: Bool) {
        let name = "." + folder.fileName + ".lock"
        guard let descriptor = try folder.openFile(name, O_RDWR | O_CREAT, mode: 0o600) else {
            throw DefaultsError.system("open", ENOENT, file: folder.path)
        }
        var pause = Duration.microseconds(200)
        var waited = false
        var interruptions = Interruptions()
        while flock(descriptor.number, LOCK_EX | LOCK_NB) != 0 {
            if interruptions.shouldRetry(errno) { continue }
            guard errno == EWOULDBLOCK else { throw DefaultsError.system("flock", errno, file: descriptor.path) }
            guard !deadline.hasPassed else {
                throw DefaultsError(.timedOut, "Another process kept the store locked", file: folder.path)
            }
            waited = true
            deadline.sleep(pause)
            pause = min(pause * 2, .milliseconds(4))
        }
        return (descriptor, waited)
    }
}
