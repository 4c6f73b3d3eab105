// A program that the store's tests run as other processes: `StoreHelper COMMAND FILE …`, what it did on standard
// output, a line at a time, written at once.
internal import CKVSystem
internal import DefaultsStorage
internal import Glibc
internal import PropertyLists

func say(_ text: String) {
    let line = Array((text + "\n").utf8)
    _ = line.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
}

func openStore(_ file: String, _ durability: DefaultsDurability) throws -> DefaultsStore {
    var options = DefaultsStore.Options()
    options.durability = durability
    options.timeout = .milliseconds(getenv("STORE_TIMEOUT").flatMap { Int(String(cString: $0)) } ?? 60_000)
    if getenv("STORE_SYNCHRONIZATION").map({ String(cString: $0) }) == "normal" { options.synchronization = .normal }
    if getenv("STORE_CORRUPTION").map({ String(cString: $0) }) == "recover" { options.onCorruption = .recover }
    return try DefaultsStore.open(path: file, options: options)
}

func durability(_ name: String) -> DefaultsDurability {
    name == "immediate" ? .immediate : name == "coalesced" ? .coalesced : .manual
}

func list(_ value: Int) throws -> PropertyList { try PropertyList(any: value) }

/// Sets keys of its own and adds to a counter that all share; the changes are `count` each.
func count(_ file: String, name: String, count: Int) throws {
    let store = try openStore(file, .coalesced)
    for number in 0..<count {
        try store.set(list(number), forKey: "\(name)-\(number)")
        try store.transaction { transaction in
            let old = try transaction.value(at: ["counter"])?.integer ?? 0
            try transaction.set(list(Int(old) + 1), at: ["counter"])
        }
    }
    try store.close()
    say("done")
}

/// Sets `value` and its square for ever, and says each number once it is on disk.
func save(_ file: String, from first: Int, padding: Int) throws {
    let store = try openStore(file, .immediate)
    let text = try PropertyList(any: String(repeating: "x", count: padding))
    var number = first
    while true {
        try store.transaction { transaction in
            try transaction.set(list(number), at: ["number"])
            try transaction.set(list(number * number), at: ["square"])
            try transaction.set(text, at: ["padding"])
        }
        say("\(number)")
        number += 1
    }
}

/// Makes `count` durable sets, even after failures, and says the outcome of each; reads the number back each time, and
/// says the one that it finds after a failure.
func attempt(_ file: String, count: Int) {
    do {
        let store = try openStore(file, .immediate)
        for number in 1...max(count, 1) {
            let result = Result { try store.set(list(number), forKey: "number") }
            let held = Int(try store.value(forKey: "number")?.integer ?? 0)
            switch result {
            case .success: say(held == number ? "ok \(number)" : "lost \(number)")
            case .failure(let error): say("error \(number) holds \(held) \((error as? DefaultsError)?.code as Any)")
            }
        }
        do {
            try store.close()
            say("closed")
        } catch {
            say("error close \(error.code)")
        }
    } catch {
        say("error open \((error as? DefaultsError)?.code as Any)")
    }
}

/// Fills the disk and empties it again: the store reports the one and works after the other.
func fill(_ file: String, filler: String) throws {
    let store = try openStore(file, .immediate)
    try store.set(PropertyList(any: String(repeating: "x", count: 20_000)), forKey: "padding")
    try store.set(list(1), forKey: "number")
    let before = try contents(file)
    let block = [UInt8](repeating: 0, count: 4096)
    let descriptor = open(filler, O_WRONLY | O_CREAT, 0o600)
    while write(descriptor, block, block.count) > 0 {}
    close(descriptor)
    do {
        try store.set(list(2), forKey: "number")
        say("written to a full disk")
    } catch {
        say("\((error as? DefaultsError)?.code == .noSpace ? "full" : "\(error)")")
    }
    say(try store.value(forKey: "number")?.integer == 1 ? "not kept" : "kept")
    say(try contents(file) == before ? "whole" : "damaged")
    unlink(filler)
    try store.set(list(2), forKey: "number")
    say("works")
}

func contents(_ file: String) throws -> [UInt8] {
    let descriptor = open(file, O_RDONLY)
    defer { close(descriptor) }
    var result: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(descriptor, &block, block.count)
        if count <= 0 { return result }
        result += block[..<count]
    }
}

/// Opens each file that standard input names, reads it and changes it, and says the outcome.
func visit() {
    while let file = readLine() {
        do {
            let store = try openStore(file, .immediate)
            let keys = try store.keys()
            try store.set(list(keys.count), forKey: "visited")
            say("ok \(keys.count)")
        } catch {
            say("error \((error as? DefaultsError)?.code as Any)")
        }
    }
}

/// Holds the store locked until it is killed.
func hold(_ file: String) throws {
    let store = try openStore(file, .immediate)
    let transaction = try store.beginTransaction()
    try transaction.set(list(1), at: ["never"])
    say("holding")
    while true { sleep(1000) }
}

/// Sets a key in each of some stores, whose locks others may keep, and then, for each line of input, one in the first.
func neighbours(_ file: String, _ others: [String]) throws {
    let stores = try others.map { try openStore($0, .coalesced) }
    for store in stores { try store.set(list(1), forKey: "n") }
    // They are being tried by now.
    usleep(300_000)
    let store = try openStore(file, .coalesced)
    var number = 0
    while readLine() != nil {
        number += 1
        try store.set(list(number), forKey: "n")
        say("set")
    }
    for store in stores + [store] { try store.close() }
}

/// Makes one change and leaves without a word to the store: its exit has to write it.
func leave(_ file: String, _ value: Int = 42) throws {
    let store = try openStore(file, .coalesced)
    try store.set(list(value), forKey: "left")
    exit(0)
}

/// The store that an exit handler changes which is older than the library's, and so runs after it.
nonisolated(unsafe) private var lateStore: DefaultsStore?

func leaveLate(_ file: String) throws {
    atexit {
        do {
            for number in 1...2 { try lateStore?.set(list(number), forKey: "late") }
            say("read \(try lateStore?.value(forKey: "late")?.integer ?? 0)")
        } catch {
            say("\(error)")
        }
    }
    lateStore = try openStore(file, .coalesced)
    try lateStore?.set(list(42), forKey: "left")
    exit(0)
}

/// Leaves while the thread that flushes waits for a lock: the exit has to wait with it.
func leaveWriting(_ file: String) throws {
    let store = try openStore(file, .coalesced)
    try store.set(list(42), forKey: "left")
    // Until the thread has begun to flush; if it has not, the exit writes the change in its stead.
    usleep(300_000)
    say("leaving")
    exit(0)
}

/// Starts the thread that flushes: it takes no signals, and the thread that set something takes those it took before.
func signals(_ file: String) throws {
    var mine = sigset_t()
    sigemptyset(&mine)
    sigaddset(&mine, SIGUSR1)
    pthread_sigmask(SIG_SETMASK, &mine, nil)
    let store = try openStore(file, .coalesced)
    try store.set(list(1), forKey: "number")
    var now = sigset_t()
    pthread_sigmask(SIG_SETMASK, nil, &now)
    let all = [SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCHLD, SIGIO]
    say("setting: " + all.filter { sigismember(&now, $0) == 1 }.map { "\($0)" }.joined(separator: " "))
    // To the process: a thread that has not blocked them would take them, and the program end.
    for number in all {
        sigaddset(&now, number)
        pthread_sigmask(SIG_SETMASK, &now, nil)
        kill(getpid(), number)
    }
    try store.sync()
    var pending = sigset_t()
    sigpending(&pending)
    say("waiting: " + all.filter { sigismember(&pending, $0) == 1 }.map { "\($0)" }.joined(separator: " "))
    try store.close()
}

/// Leaves in the middle of a transaction: what was set before it is written, what it set is not.
func leaveInside(_ file: String) throws {
    let store = try openStore(file, .coalesced)
    try store.set(list(42), forKey: "left")
    let transaction = try store.beginTransaction()
    try transaction.set(list(1), at: ["never"])
    exit(0)
}

/// Sets with the disk full and durability coalesced: the flush is tried again, but not in a frenzy.
func retry(_ file: String, filler: String) throws {
    let store = try openStore(file, .coalesced)
    try store.set(PropertyList(any: String(repeating: "x", count: 20_000)), forKey: "padding")
    try store.sync()
    let failures = Count()
    let watch = try store.watchEvents { if case .flushFailed = $0 { failures.count += 1 } }
    let block = [UInt8](repeating: 0, count: 4096)
    let descriptor = open(filler, O_WRONLY | O_CREAT, 0o600)
    while write(descriptor, block, block.count) > 0 {}
    close(descriptor)
    var entry = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
    for number in 0..<60 {
        try store.set(list(number), forKey: "number")
        usleep(50_000)
        poll(&entry, 1, 0)
        _ = try store.pump()
    }
    say((1...5).contains(failures.count) ? "patient" : "failed \(failures.count) times")
    unlink(filler)
    watch.cancel()
    exit(0)
}

/// Counted on the thread that pumps.
final class Count: @unchecked Sendable {
    var count = 0
}

/// Says each change of `key` that it sees, until it sees `last`; fails where it was woken for nothing all the time.
func watch(_ file: String, key: String, last: Int64) throws {
    let store = try openStore(file, .coalesced)
    let wakes = Count()
    let watch = try store.watch(.value([.key(key)])) { change in
        say("\(key) \(change.new?.integer ?? -1)")
        guard change.new?.integer == last else { return }
        let isOften = wakes.count > 20 * last
        if isOften { say("was woken \(wakes.count) times") }
        exit(isOften ? 1 : 0)
    }
    say("watching")
    var descriptor = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
    while true {
        poll(&descriptor, 1, 10_000)
        wakes.count += 1
        _ = try store.pump()
    }
    watch.cancel()
}

/// Sets values near small limits, and says the store's digest in the end.
func stuff(_ file: String, seed: UInt64, format: String) throws {
    var options = DefaultsStore.Options()
    options.format = format == "binary" ? .binary : .xml
    options.maximumBytes = 20_000
    options.maximumNodes = 300
    let store = try DefaultsStore.open(path: file, options: options)
    var state = seed | 1
    func random(_ count: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(count))
    }
    var refused = 0
    for _ in 0..<200 {
        let key = "key \(random(6)) <&>"
        let size = random(7000)
        do {
            switch random(6) {
            case 0: try store.set(PropertyList(any: String(repeating: "<&ü", count: size / 3)), at: [.key(key)])
            case 1: try store.set(PropertyList(any: [Int](repeating: size, count: size / 30)), at: [.key(key)])
            case 2: try store.set(PropertyList(any: ["same", "same", "same"]), at: [.key(key), .key("\(size)")])
            case 3: _ = try store.remove(at: [.key(key)])
            case 4: try store.set(PropertyList(any: [String(repeating: "k", count: size): [[[true]]]]), at: [.key(key)])
            default: try store.sync()
            }
        } catch let error as DefaultsError where error.code == .limitExceeded {
            refused += 1
        } catch let error as DefaultsError where error.code == .pathMismatch {
            // There is a string on the path.
        }
    }
    let held = digest(try store.snapshot().serialized(as: .binary))
    try store.close()
    say("\(refused > 0) \(held)")
}

/// Says the digest of a store.
func show(_ file: String) throws { say(digest(try openStore(file, .manual).snapshot().serialized(as: .binary))) }

func digest(_ bytes: [UInt8]) -> String {
    "\(bytes.count) \(bytes.reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 })"
}

/// Replaces a value by one of more bytes than a row of SQLite can have.
func enlarge(_ file: String) throws {
    var options = DefaultsStore.Options()
    options.durability = .manual
    options.maximumBytes = 4 << 30
    let store = try DefaultsStore.open(path: file, options: options)
    try store.set(list(1), forKey: "big")
    try store.sync()
    try store.set(PropertyList(any: String(repeating: "x", count: 1_100_000_000)), forKey: "big")
    do {
        try store.sync()
        say("written")
    } catch {
        say("\(error.code)")
    }
}

/// Writes a number, waits for a line on standard input, sets another number if that says so, and leaves when standard
/// input ends.
func strand(_ file: String, durability: DefaultsDurability) throws {
    let store = try changeStranded(file, durability)
    _ = readLine()
    withExtendedLifetime(store) { exit(0) }
}

/// The store; nil where it was closed, and is gone.
private func changeStranded(_ file: String, _ durability: DefaultsDurability) throws -> DefaultsStore? {
    let store = try openStore(file, durability)
    try store.set(list(1), forKey: "written")
    try store.sync()
    say("written")
    let change = readLine()
    do {
        try store.refresh()
        say("refreshed")
    } catch {
        say("\(error.code)")
    }
    if change != "" { try store.set(list(2), forKey: "unwritten") }
    say("read \(try store.value(forKey: "written")?.integer ?? 0)")
    guard change == "close" else { return store }
    do {
        try store.close()
    } catch {
        say("\(error.code)")
    }
    return nil
}

/// Says the file of a store with this name, and whether the program is privileged.
func sayFile(_ name: String) throws {
    var options = DefaultsStore.Options()
    options.isReadOnly = true
    say("\(cs_is_privileged()) \(try DefaultsStore.open(name, options: options).file ?? "nowhere")")
}

/// Opens a store by its name, and makes one durable set.
func settle(_ name: String) throws {
    let store = try DefaultsStore.open(name)
    try store.set(list(1), forKey: "n")
    try store.close()
    say(store.file ?? "nowhere")
}

/// Says the value of `key` in a store with this name, and again where the program names a managed file itself.
func managed(_ name: String, file: String) throws {
    var options = DefaultsStore.Options()
    options.isReadOnly = true
    let found = try DefaultsStore.open(name, options: options).value(forKey: "key")
    options.managedFile = file
    let own = try DefaultsStore.open(name, options: options).value(forKey: "key")
    say("\(found?.integer ?? 0) \(own?.integer ?? 0)")
}

/// Opens the file and changes it, and says the outcome of each, and the events.
func probe(_ file: String) {
    do {
        let store = try openStore(file, .immediate)
        say("open \(try store.keys().count)")
        let watch = try store.watchEvents { event in
            switch event {
            case .recovered: say("recovered")
            case .unrecoverable: say("unrecoverable")
            default: say("\(event)")
            }
        }
        do {
            try store.set(list(1), forKey: "probed")
            say("set")
        } catch {
            say("error \(error)")
        }
        _ = try store.pump()
        watch.cancel()
    } catch let error as DefaultsError {
        say("error \(error.code): \(error)")
    } catch {
        say("error \(error)")
    }
}

let arguments = CommandLine.arguments
let file = arguments.count > 2 ? arguments[2] : ""
func argument(_ index: Int) -> String { arguments.count > index ? arguments[index] : "" }
umask(0)
do {
    switch argument(1) {
    case "count": try count(file, name: argument(3), count: Int(argument(4)) ?? 0)
    case "save": try save(file, from: Int(argument(3)) ?? 0, padding: Int(argument(4)) ?? 0)
    case "attempt": attempt(file, count: Int(argument(3)) ?? 1)
    case "hold": try hold(file)
    case "leave-inside": try leaveInside(file)
    case "retry": try retry(file, filler: argument(3))
    case "neighbours": try neighbours(file, Array(arguments[3...]))
    case "leave": try leave(file, arguments.count > 3 ? Int(argument(3)) ?? 42 : 42)
    case "leave-late": try leaveLate(file)
    case "stuff": try stuff(file, seed: UInt64(argument(3)) ?? 1, format: argument(4))
    case "show": try show(file)
    case "enlarge": try enlarge(file)
    case "strand": try strand(file, durability: argument(3) == "manual" ? .manual : .coalesced)
    case "watch": try watch(file, key: argument(3), last: Int64(argument(4)) ?? 0)
    case "fill": try fill(file, filler: argument(3))
    case "visit": visit()
    case "where": try sayFile(file)
    case "settle": try settle(file)
    case "managed": try managed(file, file: argument(3))
    case "probe": probe(file)
    case "split": try split(file)
    case "inherit": try inherit(file, isInside: argument(3) == "inside")
    case "fork-inside": try forkInside(file)
    case "fork-limited": try forkLimited(file, isInside: argument(3) == "inside")
    case "fork-watching": try forkWatching(file)
    case "fork-again": try forkAgain(file)
    case "fork-coalesced": try forkCoalesced(file)
    case "fork-pumping": try forkPumping(file, count: Int(argument(3)) ?? 1)
    case "fork-opening": try forkOpening(file, argument(3))
    case "fork-beside": try forkBeside(file)
    case "fork-descriptors": try forkDescriptors(file)
    case "fork-orphan": try forkOrphan(file, isOtherThread: argument(3) == "other")
    case "leave-writing": try leaveWriting(file)
    case "signals": try signals(file)
    case "leave-forked": try leaveForked(file, second: argument(3), third: argument(4))
    case "watch-forked": try watchForked(file)
    case "drive": try drive(file, durability(argument(3)))
    case "crowd": try Crowd(file, arguments[3], peers: Array(arguments[4...])).run()
    case "allocations": try allocations(file, keys: Int(argument(3)) ?? 0)
    case "serializations": try serializations(count: Int(argument(3)) ?? 0)
    default: say("usage: StoreHelper count|save|attempt|hold|leave|watch FILE …")
    }
} catch {
    say("error \(error)")
    exit(1)
}
