internal import Glibc

/// Keeps `pthread_cancel` away from the calling thread: one that is cancelled in a system call leaves every lock that it
/// holds locked for ever.
struct CancellationShield {
    private var old = Int32(PTHREAD_CANCEL_ENABLE)

    static func raised() -> CancellationShield {
        var shield = CancellationShield()
        pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), &shield.old)
        return shield
    }

    /// Gives the thread back what it had.
    func lower() {
        var present: Int32 = 0
        pthread_setcancelstate(old, &present)
    }
}

/// Where `pthread_cancel` may end a thread: at the beginning of a call that can wait, with nothing locked or half done.
package enum CancellationPoint {
    package static func pass() { pthread_testcancel() }
}

/// Keeps SIGXFSZ, which ends the program, away from the calling thread: a file beyond the user's limit is an error.
struct FileSizeShield {
    private var old = sigset_t()
    private var signal = sigset_t()

    static func raised() -> FileSizeShield {
        var shield = FileSizeShield()
        sigemptyset(&shield.signal)
        sigaddset(&shield.signal, SIGXFSZ)
        pthread_sigmask(SIG_BLOCK, &shield.signal, &shield.old)
        return shield
    }

    /// Takes the signal that came meanwhile, and gives the thread back the mask that it had.
    mutating func lower() {
        var none = timespec()
        if sigismember(&old, SIGXFSZ) == 0 { while sigtimedwait(&signal, nil, &none) > 0 {} }
        pthread_sigmask(SIG_SETMASK, &old, nil)
    }
}
