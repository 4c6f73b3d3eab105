internal import CKVSystem
internal import DefaultsStorage
internal import Glibc
internal import PropertyLists

// Uses of a store by a process that forks, and by its child.

/// Waits for a child; gives how it ended, 0 for well.
func end(of child: pid_t) -> Int32 {
    var status: Int32 = 0
    waitpid(child, &status, 0)
    return status
}

/// Changes a store before and after a fork, in parent and child. What was removed before by index, and waits for its
/// flush, would be removed again, and something else with it, if the child wrote it too.
func split(_ file: String) throws {
    let store = try openStore(file, .coalesced)
    try store.set(PropertyList(any: [0, 1, 2, 3, 4, 5]), forKey: "queue")
    try store.sync()
    try store.beginTransaction().rollback()
    try store.set(list(1), forKey: "before")
    _ = try store.remove(at: ["queue", 0])
    let child = cs_fork()
    let name = child == 0 ? "child" : "parent"
    if try store.value(forKey: "before")?.integer != 1 { say("\(name) lost before") }
    if try store.value(at: ["queue"])?.count != 5 { say("\(name) lost the removal") }
    try store.set(list(2), forKey: name)
    for _ in 0..<20 { try count(in: store) }
    try store.close()
    if child == 0 { exit(0) }
    say("child \(end(of: child))")
}

/// Forks with a removal that waits for its flush, or that a transaction has set aside: the child changes the same value
/// and writes it, and only then its parent does.
func inherit(_ file: String, isInside: Bool) throws {
    let store = try openStore(file, .manual)
    try store.set(PropertyList(any: ["queue": [0, 1, 2, 3]]), forKey: "box")
    try store.sync()
    _ = try store.remove(at: ["box", "queue", 0])
    let transaction = isInside ? try store.beginTransaction() : nil
    let child = cs_fork()
    transaction?.rollback()
    if try store.value(at: ["box", "queue"])?.count != 3 { say("lost the removal") }
    try store.set(list(1), at: ["box", child == 0 ? "child" : "parent"])
    if child == 0 {
        try store.close()
        exit(0)
    }
    say("child \(end(of: child))")
    try store.close()
}

/// Forks with a change that waits for its flush and, in a second store, in the middle of a transaction. The child exits
/// without a call to the store; both open a third one.
func leaveForked(_ file: String, second: String, third: String) throws {
    let store = try openStore(file, .coalesced)
    let other = try openStore(second, .coalesced)
    try store.set(list(1), forKey: "before")
    let transaction = try other.beginTransaction()
    try transaction.set(list(1), at: ["inside"])
    let child = cs_fork()
    try openStore(third, .immediate).set(list(1), forKey: child == 0 ? "child" : "parent")
    if child == 0 {
        do {
            try transaction.commit()
            say("committed what is the parent's")
        } catch {
            if error.code != .rolledBack { say("\(error)") }
        }
        do {
            _ = try other.beginTransaction(timeout: .milliseconds(20))
            say("got its parent's lock")
        } catch {
            if error.code != (second.hasSuffix(".sqlite") ? .unavailable : .timedOut) { say("\(error)") }
        }
        try store.set(list(2), forKey: "child")
        let inherited = try descriptors(of: second)
        if cs_fork() == 0 { _exit(0) }
        wait(nil)
        if try descriptors(of: second) != inherited { say("closed its parent's database") }
        exit(0)
    }
    let status = end(of: child)
    try transaction.commit()
    say("child \(status)")
    try store.close()
    try other.close()
}

/// Forks in the middle of a transaction, after a change that waits for its flush. The child sees the change and nothing
/// of the transaction, and goes on with the store; without a file, with one in memory.
func forkInside(_ file: String) throws {
    var options = DefaultsStore.Options()
    options.engine = .memory
    let store = file.isEmpty ? try DefaultsStore.open("scratch", options: options) : try openStore(file, .manual)
    try store.set(list(1), forKey: "before")
    let transaction = try store.beginTransaction()
    try transaction.set(list(1), at: ["inside"])
    let child = cs_fork()
    if child == 0 {
        say("child \(try store.keys().joined(separator: " "))")
        do {
            try store.set(list(1), forKey: "child")
            try store.sync()
            try store.transaction { try $0.set(list(1), at: ["child's own"]) }
            say("child \(try store.keys().joined(separator: " "))")
        } catch let error as DefaultsError {
            say("child \(error.code)")
        }
        exit(0)
    }
    try transaction.commit()
    say("parent \(end(of: child)) \(try store.keys().joined(separator: " "))")
    try store.close()
}

/// Forks with the removal of a large value that waits for its flush, or that a transaction has set aside. For the
/// child's changes it counts once, and not at all after the child has looked at the file.
func forkLimited(_ file: String, isInside: Bool) throws {
    var options = DefaultsStore.Options()
    options.durability = .manual
    options.maximumBytes = 10_000
    let store = try DefaultsStore.open(path: file, options: options)
    func set(_ size: Int, forKey key: String) throws {
        try store.set(PropertyList(any: String(repeating: "x", count: size)), forKey: key)
    }
    try set(5000, forKey: "large")
    try store.sync()
    _ = try store.remove(at: ["large"])
    let transaction = isInside ? try store.beginTransaction() : nil
    let child = cs_fork()
    if child == 0 {
        for (size, looks) in [(12_000, false), (7000, true), (3000, false)] {
            do {
                if looks { try store.refresh() }
                try set(size, forKey: "other")
                say("takes \(size)")
            } catch let error as DefaultsError {
                say("\(error.code) \(size)")
            }
        }
        exit(0)
    }
    transaction?.rollback()
    say("child \(end(of: child))")
}

/// Forks with a change that waits for its flush: the child keeps it, and its watch is told nothing.
func forkWatching(_ file: String) throws {
    let store = try openStore(file, .manual)
    try store.set(list(1), forKey: "number")
    try store.sync()
    try store.set(list(2), forKey: "number")
    let watch = try store.watch(.value(["number"])) { change in
        say("from \(change.old?.integer ?? 0) to \(change.new?.integer ?? 0)")
    }
    let child = cs_fork()
    if child == 0 {
        _ = try store.pump()
        exit(0)
    }
    say("child \(end(of: child))")
    watch.cancel()
    try store.close()
}

/// Forks twice, and each child a third time: all of them count, and none keeps a file open that it has closed.
func forkAgain(_ file: String) throws {
    let before = openFiles()
    do {
        let store = try openStore(file, .manual)
        for _ in 0..<2 {
            let child = cs_fork()
            if child == 0 {
                let grandchild = cs_fork()
                if grandchild != 0, end(of: grandchild) != 0 { say("the child's child failed") }
                break
            }
            if end(of: child) != 0 { say("the child failed") }
        }
        try count(in: store)
    }
    if openFiles() != before { say("files are left open") }
}

private func openFiles() -> Int { (0..<1000).count { fcntl($0, F_GETFD) >= 0 } }

private func count(in store: DefaultsStore) throws {
    try store.transaction { transaction in
        let old = try transaction.value(at: ["counter"])?.integer ?? 0
        try transaction.set(list(Int(old) + 1), at: ["counter"])
    }
}

/// Forks after the thread that flushes was started: the child's change is written without another call, and without the
/// child's exit.
func forkCoalesced(_ file: String) throws {
    let store = try openStore(file, .coalesced)
    try store.set(list(1), forKey: "parent")
    try store.sync()
    let child = cs_fork()
    if child == 0 {
        try store.set(list(1), forKey: "child")
        _ = readLine()
        _exit(0)
    }
    say("child \(end(of: child))")
}

/// Which of the process's descriptors are of the file, or of one whose name begins with its.
func descriptors(of file: String) throws -> [Int32] {
    var path = [CChar](repeating: 0, count: 4096)
    return (0..<1024).filter { number in
        let length = readlink("/proc/self/fd/\(number)", &path, path.count)
        guard length > 0 else { return false }
        return String(decoding: path[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self).hasPrefix(file)
    }
}

/// Forks with a watch: each process is woken for what the other sets, also when that one has taken its own wake-up
/// before, and the child for what was set before it looked for the first time.
func watchForked(_ file: String) throws {
    let store = try openStore(file, .immediate)
    let seen = Numbers()
    let watch = try store.watch(.value(["number"])) { seen.latest = $0.new?.integer ?? -1 }
    var (forward, back): ([Int32], [Int32]) = ([0, 0], [0, 0])
    pipe(&forward)
    pipe(&back)
    let child = cs_fork()
    var descriptor = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
    var byte: UInt8 = 0
    // A process that waits for one that has ended reads nothing.
    close(child == 0 ? forward[1] : back[1])
    func pass() { write(child == 0 ? back[1] : forward[1], &byte, 1) }
    func takeTurn() { if read(child == 0 ? forward[0] : back[0], &byte, 1) != 1 { exit(1) } }
    func set(_ number: Int) throws { try store.set(list(number), forKey: "number") }
    func see(_ number: Int64) throws {
        while seen.latest < number {
            if poll(&descriptor, 1, 10_000) != 1 {
                say("\(child == 0 ? "child" : "parent") was not woken for \(number)")
                exit(1)
            }
            _ = try store.pump()
        }
        // Takes all other wake-ups; a timer goes on.
        for _ in 0..<10 where poll(&descriptor, 1, 0) == 1 { _ = try store.pump() }
    }
    if child == 0 {
        takeTurn()
        try see(1)
        pass()
        try set(2)
        pass()
        takeTurn()
        try see(2)
        takeTurn()
        try see(3)
        pass()
        exit(0)
    }
    try set(1)
    pass()
    takeTurn()
    try see(1)
    takeTurn()
    try see(2)
    pass()
    try set(3)
    pass()
    takeTurn()
    try see(3)
    var status: Int32 = 0
    waitpid(child, &status, 0)
    say("child \(status)")
    watch.cancel()
}

/// Noted on the thread that pumps.
final class Numbers: @unchecked Sendable {
    var latest: Int64 = 0
}
