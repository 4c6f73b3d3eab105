// The store's targets, measured beside UserDefaults, GKeyFile and a plain SQLite table doing the same work.
import Foundation
import KVCodable

/// Times in nanoseconds for one of `repetitions`, the median of `rounds`.
func time(_ rounds: Int, repetitions: Int = 1, _ body: () throws -> Void) rethrows -> Double {
    var times: [Double] = []
    for _ in 0..<rounds {
        let start = monotonicNanoseconds()
        try body()
        times.append(Double(monotonicNanoseconds() - start) / Double(repetitions))
    }
    return times.sorted()[rounds / 2]
}

func monotonicNanoseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
}

/// UserDefaults reads the environment as it was when the program began: the program begins again in its own folder.
let diskFolder = (getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp") + "/kvcodable-benchmark-\(getpid())"
if getenv("XDG_CONFIG_HOME").map({ String(cString: $0) }) != diskFolder, CommandLine.arguments.count < 4 {
    try FileManager.default.createDirectory(atPath: diskFolder, withIntermediateDirectories: true)
    setenv("XDG_CONFIG_HOME", diskFolder, 1)
    var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &arguments)
}
let memoryFolder = "/dev/shm/kvcodable-benchmark-\(getpid())"
/// Where the next measurement keeps its files.
nonisolated(unsafe) var folder = diskFolder
defer { for one in [diskFolder, memoryFolder] { try? FileManager.default.removeItem(atPath: one) } }

/// A file of `count` keys for the peer, checked to hold them.
func filled<P: Peer>(_ type: P.Type, _ count: Int) throws -> (peer: P, path: String) {
    let path = "\(folder)/\(count)"
    let file = "\(folder)/userdefaults-\(count).plist"
    if type == UserDefaultsPeer.self, !FileManager.default.fileExists(atPath: file) {
        // By its own sets it would take a quarter of an hour at 100,000 keys.
        let content = Dictionary(uniqueKeysWithValues: (0..<count).map { ("key-\($0)", "the value of \($0)") })
        try Data(PropertyList(any: content).serialized(as: .binary)).write(to: URL(fileURLWithPath: file))
    }
    let peer = try P(path: path)
    if try peer.get("key-0") == nil {
        try peer.transaction { for index in 0..<count { try peer.set("key-\(index)", "the value of \(index)") } }
    }
    guard try peer.get("key-\(count)") == nil, try peer.get("key-0") == "the value of 0",
        try peer.get("key-\(count - 1)") == "the value of \(count - 1)"
    else {
        throw PeerError(text: "\(P.name) does not hold what was set")
    }
    return (peer, path)
}

/// One row of the report: our figure and each peer's.
func row(_ what: String, unit: String = "ns", _ figures: [(String, Double)]) {
    guard let ours = figures.first?.1 else { return }
    let peers = figures.dropFirst().map { "\($0)=\($1)" }
    let line = (["row", what, unit, "\(ours)"] + peers).joined(separator: "\t") + "\n"
    FileHandle.standardOutput.write(Data(line.utf8))
}

func get<P: Peer>(_ type: P.Type, _ count: Int) throws -> (String, Double) {
    let (peer, _) = try filled(type, count)
    defer { peer.close() }
    let keys = (0..<100).map { "key-\($0 * count / 100)" }
    return (
        P.name, try time(5, repetitions: 10_000) { for index in 0..<10_000 { _ = try peer.get(keys[index % 100]) } }
    )
}

func set<P: Peer>(_ type: P.Type, _ count: Int, repetitions: Int) throws -> (String, Double) {
    let (peer, _) = try filled(type, count)
    defer { peer.close() }
    let keys = (0..<10).map { "key-\($0 * count / 10)" }
    let figure = try time(3, repetitions: repetitions) {
        for index in 0..<repetitions { try peer.set(keys[index % 10], "another") }
    }
    for index in 0..<10 { try peer.set(keys[index], "the value of \(index * count / 10)") }
    try peer.flush()
    return (P.name, figure)
}

/// A step to be timed, and what follows the last one.
struct Step {
    let name: String
    let run: () throws -> Void
    var finish: () throws -> Void = {}
}

/// A figure under each name, the median of `rounds`. They take turns: a disk is slow for a while and quick for a while.
func takingTurns(_ rounds: Int, _ names: [String], _ figure: (Int) throws -> Double) rethrows -> [(String, Double)] {
    var figures = [[Double]](repeating: [], count: names.count)
    for _ in 0..<rounds {
        for index in names.indices { figures[index].append(try figure(index)) }
    }
    return zip(names, figures).map { ($0, $1.sorted()[rounds / 2]) }
}

/// Times in nanoseconds of one run of each step, which take turns, the medians of `rounds`.
func takingTurns(_ rounds: Int, _ steps: [Step]) throws -> [(String, Double)] {
    let times = try takingTurns(rounds, steps.map(\.name)) { try time(1, steps[$0].run) }
    for step in steps { try step.finish() }
    return times
}

func durableSet<P: Peer>(_ type: P.Type, _ count: Int) throws -> Step {
    let (peer, _) = try filled(type, count)
    var round = 0
    let setAndFlush = {
        round += 1
        try peer.set("key-5", "another \(round)")
        try peer.flush()
    }
    // Memory released by filling a large store is sorted by the next allocations, ten thousand pieces each.
    for _ in 0..<20 { try setAndFlush() }
    return Step(name: P.name, run: setAndFlush) {
        try peer.set("key-5", "the value of 5")
        try peer.flush()
        peer.close()
    }
}

func transaction<P: Peer>(_ type: P.Type, _ count: Int) throws -> (String, Double) {
    let (peer, _) = try filled(type, count)
    defer { peer.close() }
    return (
        P.name,
        try time(5) {
            try peer.transaction { for index in 0..<1000 { try peer.set("key-\(index)", "the value of \(index)") } }
        }
    )
}

/// The time to bring many new keys to the disk, which were set before: the sync, or the table's whole transaction.
func firstSync<P: Peer>(_ type: P.Type, _ count: Int) throws -> (String, Double) {
    let path = "\(folder)/first"
    let peer = try P(path: path)
    let setAll = { for index in 0..<count { try peer.set("key-\(index)", "the value of \(index)") } }
    let figure: Double
    if let store = peer as? StorePeer {
        try setAll()
        figure = try time(1) { try store.flush() }
    } else {
        figure = try time(1) { try peer.transaction(setAll) }
    }
    guard try peer.get("key-\(count - 1)") == "the value of \(count - 1)" else { throw PeerError(text: "first sync") }
    peer.close()
    return (P.name, figure)
}

/// A file that no store has open: an open one would be shared, and nothing loaded.
func closedFile<P: Peer>(_ type: P.Type, _ count: Int) throws -> String {
    let (peer, path) = try filled(type, count)
    peer.close()
    return path
}

func load<P: Peer>(_ type: P.Type, _ count: Int) throws -> (String, Double) {
    let path = try closedFile(type, count)
    return (
        P.name,
        try time(3) {
            let peer = try P(path: path)
            guard try peer.get("key-7") == "the value of 7" else { throw PeerError(text: "load") }
            peer.close()
        }
    )
}

/// Peak resident memory in kilobytes of a process that loads `count` keys and makes one durable set.
func peakMemory(_ name: String, _ count: Int) throws -> Double {
    try inProcess("memory", name, "\(folder)/\(count)")
}

/// A figure that a process of its own prints, whose heap is as a program's that does nothing else.
func inProcess(_ arguments: String...) throws -> Double {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard let figure = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
        throw PeerError(text: "\(arguments): \(output)")
    }
    return figure
}

/// The first sync of a store and of a table, in processes that take turns, each with a new file: the medians of `rounds`.
func firstSyncs(_ rounds: Int) throws -> [(String, Double)] {
    try takingTurns(rounds, [SQLiteStorePeer.name, TablePeer.name]) { index in
        let own = "\(folder)/first"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: own) }
        return try inProcess("first", index == 0 ? "store" : "table", own)
    }
}

func useMemory<P: Peer>(_ type: P.Type, _ path: String) throws {
    let peer = try P(path: path)
    try peer.set("key-5", "the value of 5")
    try peer.flush()
    guard try peer.get("key-5") == "the value of 5" else { throw PeerError(text: "memory") }
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    print(line.filter(\.isNumber))
}

let arguments = CommandLine.arguments
if arguments.count == 4, arguments[1] == "first" {
    folder = arguments[3]
    let isOurs = arguments[2] == "store"
    print(try (isOurs ? firstSync(SQLiteStorePeer.self, 1_000_000) : firstSync(TablePeer.self, 1_000_000)).1)
    exit(0)
}
if arguments.count == 4, arguments[1] == "memory" {
    setenv("XDG_CONFIG_HOME", (arguments[3] as NSString).deletingLastPathComponent, 1)
    switch arguments[2] {
    case "plist": try useMemory(StorePeer.self, arguments[3])
    case "sqlite": try useMemory(SQLiteStorePeer.self, arguments[3])
    default: try useMemory(UserDefaultsPeer.self, arguments[3])
    }
    exit(0)
}

print("Store: strings by key; durable sets on \(diskFolder), and \"in memory\" on /dev/shm")
for count in [10, 1000, 100_000] {
    row(
        "get, \(count) keys",
        [
            try get(StorePeer.self, count), try get(SQLiteStorePeer.self, count), try get(UserDefaultsPeer.self, count),
            try get(KeyFilePeer.self, count), try get(TablePeer.self, count),
        ])
}
for count in [10, 1000, 100_000] {
    // UserDefaults gets fewer repetitions: it would take minutes.
    row(
        "set, not flushed, \(count) keys",
        [
            try set(StorePeer.self, count, repetitions: 10_000),
            try set(SQLiteStorePeer.self, count, repetitions: 10_000),
            try set(UserDefaultsPeer.self, count, repetitions: 100),
            try set(KeyFilePeer.self, count, repetitions: 10_000),
        ])
    row("watch of everything told of one set, \(count) keys", [try watch(count)])
}
try durableRows(where: "", withUserDefaults: true)
row(
    "transaction of 1,000 sets, 10,000 keys",
    [
        try transaction(StorePeer.self, 10_000), try transaction(SQLiteStorePeer.self, 10_000),
        try transaction(UserDefaultsPeer.self, 10_000), try transaction(KeyFilePeer.self, 10_000),
        try transaction(TablePeer.self, 10_000),
    ])
row("SQLite, first sync of 1000000 keys", try firstSyncs(3))
for count in [10_000, 100_000] {
    // UserDefaults keeps the values it loaded: only its first load in a process counts, and that was the filling.
    row(
        "load, \(count) keys",
        [
            try load(StorePeer.self, count), try load(SQLiteStorePeer.self, count), try load(KeyFilePeer.self, count),
        ])
}
_ = try filled(UserDefaultsPeer.self, 100_000)
let theirs = try peakMemory("UserDefaults", 100_000) / 1024
for (name, file) in [("plist", "plist"), ("SQLite", "sqlite")] {
    let ours = try peakMemory(file, 100_000) / 1024
    row("peak memory, 100000 keys, \(name)", unit: "MB", [("", ours), ("UserDefaults", theirs)])
}
try pathSets()
try encodes()
try layers()
if (try? FileManager.default.createDirectory(atPath: memoryFolder, withIntermediateDirectories: true)) != nil {
    folder = memoryFolder
    try durableRows(where: ", in memory", withUserDefaults: false)
    row(
        "transaction of 1,000 sets, 10,000 keys, in memory",
        [
            try transaction(StorePeer.self, 10_000), try transaction(SQLiteStorePeer.self, 10_000),
            try transaction(KeyFilePeer.self, 10_000), try transaction(TablePeer.self, 10_000),
        ])
}

/// The time of a durable set, beside that of bringing the same bytes to the disk without a store.
func durableRows(where place: String, withUserDefaults: Bool) throws {
    for count in [1000, 10_000] {
        var steps = [try durableSet(StorePeer.self, count), try durableSet(KeyFilePeer.self, count)]
        if withUserDefaults { steps.append(try durableSet(UserDefaultsPeer.self, count)) }
        let file = "\(folder)/\(count).plist"
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
        steps.append(bareReplacement(size))
        row("plist, durable set, \(count) keys\(place)", try takingTurns(31, steps))
    }
    for count in [10, 1000, 10_000, 100_000] {
        let steps = [
            try durableSet(SQLiteStorePeer.self, count), try durableSet(TablePeer.self, count), bareWrite(8192),
        ]
        row("SQLite, durable set, \(count) keys\(place)", try takingTurns(101, steps))
    }
}

/// Replaces a file by another of `size` bytes.
func bareReplacement(_ size: Int) -> Step {
    let bytes = [UInt8](repeating: 1, count: size)
    let directory = open(folder, O_RDONLY | O_DIRECTORY)
    let (new, path) = (folder + "/bare.tmp", folder + "/bare")
    let run = {
        let file = open(new, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard write(file, bytes, size) == size, fsync(file) == 0, close(file) == 0, rename(new, path) == 0,
            fsync(directory) == 0
        else { throw PeerError(text: "bare replacement") }
    }
    return Step(name: "bare write, fsync, rename, fsync", run: run) { close(directory) }
}

/// Writes as many bytes as a small commit of SQLite has, into a file that is long enough.
func bareWrite(_ size: Int) -> Step {
    let bytes = [UInt8](repeating: 1, count: size)
    let file = open(folder + "/bare.log", O_RDWR | O_CREAT, 0o600)
    let run = {
        guard pwrite(file, bytes, size, 0) == size, fsync(file) == 0 else { throw PeerError(text: "bare write") }
    }
    return Step(name: "bare write, fsync", run: run) { close(file) }
}

/// The time to set a key and to be told of it by a watch of everything.
func watch(_ count: Int) throws -> (String, Double) {
    let (peer, _) = try filled(StorePeer.self, count)
    defer { peer.close() }
    nonisolated(unsafe) var told = 0
    let watch = try peer.store.watch(.everything) { _ in told += 1 }
    defer { watch.cancel() }
    var round = 0
    let figure = try time(101) {
        round += 1
        try peer.set("key-5", "another \(round)")
        _ = try peer.store.pump()
    }
    guard told == 101 else { throw PeerError(text: "told \(told) times") }
    try peer.set("key-5", "the value of 5")
    try peer.flush()
    return ("", figure)
}

/// Ten thousand changes inside one value of 10 MB, and the flush.
func pathSets() throws {
    let record: [String: Any] = [
        "name": "some name that is rather long, so that it counts", "a": 1, "b": "more text", "c": 0.5,
    ]
    var options = DefaultsStore.Options()
    options.durability = .manual
    let store = try DefaultsStore.open(path: folder + "/big.plist", options: options)
    try store.set(PropertyList(any: [Any](repeating: record, count: 55_000)), forKey: "big")
    try store.sync()
    let size = try FileManager.default.attributesOfItem(atPath: folder + "/big.plist")[.size] as? Int ?? 0
    let figure = try time(1) {
        for index in 0..<10_000 {
            try store.set(PropertyList(any: index), at: ["big", .index(index * 7 % 55_000), "a"])
        }
        try store.sync()
    }
    guard try store.value(at: ["big", 7, "a"])?.integer == 1 else { throw PeerError(text: "path sets") }
    guard size > 10_000_000 else { throw PeerError(text: "the value has only \(size) bytes") }
    row("10,000 path sets into one value of 10 MB, flushed", [("", figure)])
}

/// A struct of 27 fields.
struct Settings: Codable, Equatable {
    var a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9
    var b1 = "one", b2 = "two", b3 = "three", b4 = "four", b5 = "five", b6 = "six", b7 = "seven", b8 = "eight"
    var c1 = 0.5, c2 = 1.5, c3 = 2.5, c4 = 3.5, c5 = true, c6 = false, c7 = true
    var d1: String?, d2: Int?, d3 = "end"
}

/// The struct, set over itself and over one change.
func encodes() throws {
    var options = DefaultsStore.Options()
    options.durability = .manual
    let store = try DefaultsStore.open(path: folder + "/struct.plist", options: options)
    var settings = Settings()
    try store.encode(settings, forKey: "settings")
    try store.set(PropertyList(any: "kept"), at: ["settings", "unknown"])
    try store.sync()
    let same = try time(5, repetitions: 1000) { for _ in 0..<1000 { try store.encode(settings, forKey: "settings") } }
    let changed = try time(5, repetitions: 1000) {
        for index in 0..<1000 {
            settings.a5 = index
            try store.encode(settings, forKey: "settings")
        }
    }
    guard try store.decode(Settings.self, forKey: "settings") == settings,
        try store.stored(at: ["settings", "unknown"])?.string == "kept"
    else { throw PeerError(text: "the struct is not what was set") }
    row("encode of a struct of 27 fields over itself", unit: "µs", [("", same / 1000)])
    row("encode of a struct of 27 fields over one change", unit: "µs", [("", changed / 1000)])
}

/// A leaf and the struct, read of a store with three loaded layers beside its own, and of one without.
func layers() throws {
    let managed = folder + "/managed.plist"
    try PropertyListFile.write(PropertyList(any: ["locked": 1]), to: managed, as: .xml)
    var options = DefaultsStore.Options()
    options.durability = .manual
    let whole = try KeyValueEncoder().encodeToPropertyList(Settings()) ?? [:]
    let halves = [true, false].map { isLower in
        Dictionary(uniqueKeysWithValues: whole.entries.filter { ($0.key < "b5") == isLower }.map { ($0.key, $0.value) })
    }
    let alone = try DefaultsStore.open(path: folder + "/alone.plist", options: options)
    try alone.set(whole, forKey: "settings")
    options.managedFile = managed
    options.arguments = try PropertyList(any: ["verbose": true])
    options.defaults = try PropertyList(any: ["settings": PropertyList(halves[0])])
    let layered = try DefaultsStore.open(path: folder + "/layered.plist", options: options)
    for (key, value) in halves[1] { try layered.set(value, at: ["settings", .key(key)]) }
    let (leaf, leafAlone) = try (reads(of: layered, ["settings", "d3"]), reads(of: alone, ["settings", "d3"]))
    row("get of a leaf over three layers", [("", leaf), ("one layer", leafAlone)])
    let lower = try reads(of: layered, ["settings", "a1"])
    row("get of a leaf of the lowest of three layers", [("", lower), ("one layer", leafAlone)])
    let (merged, mergedAlone) = try (decodes(of: layered), decodes(of: alone))
    row("decode of a struct of 27 fields over three layers", [("", merged), ("one layer", mergedAlone)])
}

private func reads(of store: DefaultsStore, _ path: PropertyListPath) throws -> Double {
    try time(7, repetitions: 10_000) { for _ in 0..<10_000 { _ = try store.value(at: path) } }
}

private func decodes(of store: DefaultsStore) throws -> Double {
    guard try store.decode(Settings.self, forKey: "settings") == Settings() else { throw PeerError(text: "layers") }
    return try time(7, repetitions: 1000) {
        for _ in 0..<1000 { _ = try store.decode(Settings.self, forKey: "settings") }
    }
}
