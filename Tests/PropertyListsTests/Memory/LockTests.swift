import CKVSystem
import Glibc
import PropertyLists
import Testing

@Suite struct LockTests {
    // proves: G37
    @Test("a process can fork while another thread holds the shared lock: the child can take it")
    func forks() async {
        let holder = Task.detached {
            while !Task.isCancelled {
                Lock.shared.withLock { _ = usleep(2000) }
                usleep(50)
            }
        }
        for _ in 0..<20 {
            while pthread_mutex_trylock(Lock.shared.mutex) == 0 {
                Lock.shared.unlock()
                usleep(100)
            }
            let child = cs_fork()
            if child == 0 {
                Lock.shared.withLock {}
                _exit(0)
            }
            let status = Self.status(of: child)
            #expect(status == 0)
            if status != 0 { break }
        }
        holder.cancel()
        await holder.value
    }

    /// How a child ended; killed where it has not within five seconds.
    private static func status(of child: Int32) -> Int32 {
        var status: Int32 = -1
        for _ in 0..<5000 {
            if waitpid(child, &status, WNOHANG) == child { return status }
            usleep(1000)
        }
        kill(child, SIGKILL)
        waitpid(child, &status, 0)
        return status
    }
}
