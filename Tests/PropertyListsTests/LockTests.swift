import CSystem
import Glibc
import PropertyLists
import Testing

@Suite struct LockTests {
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
                // Ends a child that waits for ever.
                alarm(10)
                Lock.shared.withLock {}
                _exit(0)
            }
            var status: Int32 = -1
            waitpid(child, &status, 0)
            #expect(status == 0)
        }
        holder.cancel()
        await holder.value
    }
}
