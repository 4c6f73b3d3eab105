import DomainAccess
import Glibc
import KVCodable
import Synchronization

/// The output of the program. It is gathered and written in large parts; an error of writing is kept for the end of the
/// program, whose status says then that something is missing.
enum StandardOutput {
    private struct State {
        var bytes: [UInt8] = []
        var error: Int32 = 0
    }

    private static let state = Mutex(State())
    private static let most = 1 << 16

    static func append(_ text: String) {
        let isFull = state.withLock { state in
            state.bytes += text.utf8
            return state.bytes.count >= most
        }
        if isFull { flush() }
    }

    /// Writes the text printed so far; nothing more behind an error.
    static func flush() {
        state.withLock { state in
            if state.error == 0 { state.error = DomainAccess.write(state.bytes, to: STDOUT_FILENO) }
            state.bytes.removeAll(keepingCapacity: true)
        }
    }

    /// Writes bytes behind the printed text.
    static func append(_ bytes: [UInt8]) {
        flush()
        state.withLock { state in
            if state.error == 0 { state.error = DomainAccess.write(bytes, to: STDOUT_FILENO) }
        }
    }

    /// Writes the text printed so far.
    ///
    /// - Throws: a failure where a part of all that was printed could not be written.
    static func check() throws {
        flush()
        let error = state.withLock { $0.error }
        guard error == 0 else { throw Failure(String(cString: strerror(error)), of: "standard output") }
    }

    /// Opens those of the standard descriptors that are closed.
    ///
    /// A closed descriptor would become the next file that is opened, and the output would go there.
    static func open() {
        for descriptor in 0...2 where fcntl(Int32(descriptor), F_GETFD) < 0 {
            _ = Glibc.open("/dev/null", O_RDONLY)
        }
    }
}

/// As the standard library's, which does not report a full disk.
func print(_ text: String, terminator: String = "\n") { StandardOutput.append(text + terminator) }
