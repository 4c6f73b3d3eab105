internal import CKVSystem
internal import DefaultsStorage
internal import Glibc
internal import PropertyLists
internal import Synchronization

// Forks while other threads are busy with stores.

/// A flag that one thread raises and another waits for.
private final class Flag: Sendable {
    private let isRaised = Atomic(false)
    var value: Bool { isRaised.load(ordering: .sequentiallyConsistent) }
    func raise() { isRaised.store(true, ordering: .sequentiallyConsistent) }

    /// Waits for it, but not for ever; says whether it came.
    func wait(seconds: Int) -> Bool {
        for _ in 0..<(seconds * 1000) where !value { usleep(1000) }
        return value
    }
}

private final class Stores: Sendable {
    let all = Mutex<[DefaultsStore]>([])
}

/// Forks again and again while two threads pump: no child hangs that pumps, too.
func forkPumping(_ file: String, count: Int) throws {
    let store = try openStore(file, .manual)
    try store.set(list(0), forKey: "n")
    try store.sync()
    let watches = [try store.watch(.everything) { _ in }, try store.watch(.value(["n"])) { _ in }]
    for thread in 0..<2 {
        Task.detached {
            for number in 0... {
                try store.set(list(number * 2 + thread), forKey: "n")
                _ = try store.pump()
            }
        }
    }
    var hung = 0
    for _ in 0..<count where hung < 3 {
        let child = cs_fork()
        if child == 0 {
            alarm(20)
            do {
                _ = try store.pump()
                if try store.value(forKey: "n") == nil { say("a child has nothing") }
            } catch {
                say("child: \(error)")
            }
            _exit(0)
        }
        let status = end(of: child)
        if status != 0 { hung += 1 }
    }
    say("\(hung) hung")
    withExtendedLifetime(watches) { _exit(0) }
}

/// Forks, and opens another store, while one that another program is writing is opened by two threads, and says whether
/// that came before they were done. The line of input afterwards says that the file is whole; then both have one store.
func forkOpening(_ file: String, _ other: String) throws {
    let (flags, stores) = ([Flag(), Flag()], Stores())
    for flag in flags {
        Task.detached {
            defer { flag.raise() }
            var options = DefaultsStore.Options()
            options.durability = .manual
            options.timeout = .seconds(5)
            options.settleTime = .seconds(3600)
            do {
                let store = try DefaultsStore.open(path: file, options: options)
                stores.all.withLock { $0.append(store) }
            } catch {
                say("\(error)")
            }
        }
    }
    // Until both are at it: where they are not, this proves nothing, but fails neither.
    usleep(200_000)
    let child = cs_fork()
    if child == 0 {
        alarm(30)
        try openStore(other, .immediate).set(list(1), forKey: "child")
        exit(0)
    }
    try openStore(other, .immediate).set(list(1), forKey: "parent")
    say(flags.contains { $0.value } ? "late" : "in time")
    _ = readLine()
    for flag in flags where !flag.wait(seconds: 30) { say("not opened") }
    let (first, second) = stores.all.withLock { ($0.first, $0.last) }
    try first?.set(list(7), forKey: "shared")
    say("child \(end(of: child)) \(try second?.value(forKey: "shared")?.integer ?? 0)")
}

/// Forks while another thread has a transaction open, which ends when the fork is done, or after 4 seconds. The child
/// waits for its parent's lock, and writes.
func forkBeside(_ file: String) throws {
    let store = try openStore(file, .manual)
    try store.set(list(1), forKey: "before")
    let (begun, forked, done) = (Flag(), Flag(), Flag())
    Task.detached {
        do {
            let transaction = try store.beginTransaction()
            try transaction.set(list(1), at: ["inside"])
            begun.raise()
            say(forked.wait(seconds: 4) ? "in time" : "late")
            try transaction.commit()
        } catch {
            say("\(error)")
        }
        done.raise()
    }
    _ = begun.wait(seconds: 30)
    let child = cs_fork()
    if child == 0 {
        alarm(30)
        do {
            if try store.value(forKey: "inside") != nil { say("sees its parent's transaction") }
            try store.set(list(1), forKey: "child")
            try store.sync()
            if try !tellsOfDamage(store, file) { say("a damaged file was not told") }
        } catch let error as DefaultsError {
            if error.code != .unavailable || !file.hasSuffix(".sqlite") { say("child: \(error)") }
        }
        _exit(0)
    }
    forked.raise()
    _ = done.wait(seconds: 30)
    say("child \(end(of: child))")
    try store.close()
}

/// Forks when lock files were open and are closed, and their numbers are those of files of its own; the child does so once
/// more. Says which of them a child has not.
func forkDescriptors(_ file: String) throws {
    func own() -> [Int32] { (0..<16).map { _ in open("/dev/null", O_RDONLY) } }
    let store = try openStore(file, .immediate)
    try store.set(list(1), forKey: "a")
    let first = own()
    let child = cs_fork()
    if child == 0 {
        for number in first where fcntl(number, F_GETFD) < 0 { say("\(number) is closed in the child") }
        try? store.set(list(2), forKey: "a")
        let second = own()
        let last = cs_fork()
        if last == 0 {
            for number in first + second where fcntl(number, F_GETFD) < 0 { say("\(number) is closed in its child") }
            _exit(0)
        }
        _exit(end(of: last))
    }
    say("child \(end(of: child))")
}

/// Forks while it has the store locked, in a transaction of another thread or of the forking one, and stays there: the
/// child, whose process number it says, uses nothing of the store.
func forkOrphan(_ file: String, isOtherThread: Bool) throws {
    let store = try openStore(file, .manual)
    let begun = Flag()
    var own: DefaultsTransaction?
    if isOtherThread {
        Task.detached {
            let transaction = try store.beginTransaction()
            begun.raise()
            sleep(60)
            transaction.rollback()
        }
        _ = begun.wait(seconds: 30)
    } else {
        own = try store.beginTransaction()
    }
    let child = cs_fork()
    if child != 0 { say("\(child)") }
    sleep(60)
    withExtendedLifetime(own) {}
    _exit(0)
}

/// Whether an event tells that another program's file, which has the store's name for a while, cannot be read.
private func tellsOfDamage(_ store: DefaultsStore, _ file: String) throws -> Bool {
    let told = Flag()
    let watch = try store.watchEvents { if case .unreadable = $0 { told.raise() } }
    defer { watch.cancel() }
    guard rename(file, file + ".whole") == 0, let damaged = fopen(file, "w") else { return false }
    fputs("{ broken", damaged)
    fclose(damaged)
    try? store.sync()
    _ = try store.pump()
    return rename(file + ".whole", file) == 0 && told.value
}
