internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// An open file or folder, closed when the last reference goes.
///
/// Calls that a signal interrupts are made again; every other failure is a ``DefaultsError``. `@unchecked Sendable`:
/// only `close` and `abandon` change the number, and their callers hold the writer lock or the only reference.
final class FileDescriptor: @unchecked Sendable {
    private(set) var number: Int32
    let path: String

    init(_ number: Int32, path: String) {
        self.number = number
        self.path = path
    }

    deinit { if number >= 0 { Glibc.close(number) } }

    /// Closes the file and reports the system's error, which may be that of an earlier write.
    func close() throws(DefaultsError) {
        guard number >= 0 else { return }
        let result = Glibc.close(number)
        number = -1
        // After EINTR the descriptor is gone all the same on Linux.
        if result != 0, errno != EINTR { throw DefaultsError.system("close", errno, file: path) }
    }

    /// Closes the file and reports nothing: to unlock it, in a child process, or after a failure that is being reported
    /// already.
    func abandon() {
        if number >= 0 { Glibc.close(number) }
        number = -1
    }

    func status() throws(DefaultsError) -> stat {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw DefaultsError.system("fstat", errno, file: path) }
        return status
    }

    func synchronize() throws(DefaultsError) {
        try retrying("fsync") { fsync(number) }
    }

    /// Writes everything, however many calls that takes: where the last write ended, or from the file's start.
    func write(_ bytes: [UInt8], fromStart: Bool = false) throws(DefaultsError) {
        var position = 0
        var interruptions = Interruptions()
        while position < bytes.count {
            let written = bytes[position...].withUnsafeBytes { rest in
                fromStart
                    ? pwrite(number, rest.baseAddress, rest.count, off_t(position))
                    : Glibc.write(number, rest.baseAddress, rest.count)
            }
            if written < 0, interruptions.shouldRetry(errno) { continue }
            guard written > 0 else { throw DefaultsError.system("write", written < 0 ? errno : EIO, file: path) }
            position += written
        }
    }

    /// The file's first bytes, at most `count`; none where they cannot be read.
    func beginning(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            var interruptions = Interruptions()
            repeat {
                length = pread(number, buffer.baseAddress, count, 0)
            } while length < 0 && interruptions.shouldRetry(errno)
            length = max(length, 0)
        }
    }

    /// Everything from the start to the end of the file.
    /// - Throws: ``DefaultsError/Code/limitExceeded`` for more than `most` bytes, before that many are in memory.
    func readToEnd(most: Int = .max) throws(DefaultsError) -> [UInt8] {
        let size = Int(try status().st_size)
        try check(size, most)
        var result: [UInt8] = []
        var isAtEnd = false
        var interruptions = Interruptions()
        while !isAtEnd {
            let wanted = max(size - result.count, 0) + 4096
            let position = result.count
            var failure: Int32 = 0
            let extended = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
                let got = pread(number, buffer.baseAddress, wanted, off_t(position))
                failure = got < 0 ? errno : 0
                count = max(got, 0)
            }
            if interruptions.shouldRetry(failure) { continue }
            guard failure == 0 else { throw DefaultsError.system("read", failure, file: path) }
            isAtEnd = extended.isEmpty
            try check(position + extended.count, most)
            if result.isEmpty { result = extended } else { result += extended }
        }
        return result
    }

    private func check(_ size: Int, _ most: Int) throws(DefaultsError) {
        if size > most {
            throw DefaultsError(
                .limitExceeded, .expected("a file of at most \(most) bytes", found: "\(size)"), file: path)
        }
    }

    private func retrying(_ name: String, _ call: () -> Int32) throws(DefaultsError) {
        var interruptions = Interruptions()
        while call() != 0 {
            guard interruptions.shouldRetry(errno) else { throw DefaultsError.system(name, errno, file: path) }
        }
    }
}

/// Counts how often signals interrupted a call, so that it is made again, but not for ever.
struct Interruptions {
    private var count = 0

    mutating func shouldRetry(_ number: Int32) -> Bool {
        count += 1
        return number == EINTR && count < 100
    }
}

/// A file's identity, size and times, which tell whether it is still the one that was loaded.
struct FileStamp: Equatable, Sendable {
    var device: UInt
    var inode: UInt
    var size: Int
    var modified: Int64
    var changed: Int64

    init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        size = Int(status.st_size)
        modified = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
    }

    /// Whether it is the same file, not written since; a rename does not matter.
    func isSameContent(as other: FileStamp) -> Bool {
        device == other.device && inode == other.inode && size == other.size && modified == other.modified
    }

    /// How long ago the file was written, in nanoseconds; negative when its time lies ahead.
    var age: Int64 { cs_realtime_nanoseconds().subtractingReportingOverflow(modified).partialValue }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000).partialValue &+ Int64(time.tv_nsec)
    }
}
