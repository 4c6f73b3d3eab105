import Dispatch
import Glibc

/// The terminal, or the program, that the page was started from: the page ends with it.
///
/// The terminal's own end is SIGHUP, which ends a program unasked. A program that has the page's input open, and is gone
/// or closes it, ends it too; so does the end of the parent where no terminal is.
struct Terminal {
    private let parent = getppid()
    private let isPipe: Bool

    init() {
        var status = stat()
        let isKnown = fstat(STDIN_FILENO, &status) == 0
        let kind = status.st_mode & S_IFMT
        // The input of a service is /dev/null, or closed: that is no end.
        isPipe = isKnown && (kind == S_IFIFO || kind == S_IFSOCK || isatty(STDIN_FILENO) == 1)
    }

    /// Looks twice a second whether it is gone, and ends the program then.
    func endWithIt() {
        Task.detached {
            while !isGone { try? await Task.sleep(for: .milliseconds(500)) }
            exit(0)
        }
    }

    private var isGone: Bool {
        if getppid() != parent { return true }
        guard isPipe else { return false }
        var input = pollfd(fd: STDIN_FILENO, events: 0, revents: 0)
        return poll(&input, 1, 0) == 1 && input.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0
    }
}
