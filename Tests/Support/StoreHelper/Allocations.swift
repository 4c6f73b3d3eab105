internal import DefaultsStorage
internal import Glibc
internal import PropertyLists

/// Says how many bytes a first set, a set after it, a set once others have been flushed, a look of a watch of
/// everything, and (for SQLite, where that does not write the whole file) a durable set ask memory for, in a store of
/// `keys` keys. Needs the library that counts them.
func allocations(_ file: String, keys: Int) throws {
    let counted = counter()
    func count(_ what: String, _ body: () throws -> Void) rethrows {
        let before = counted()
        try body()
        say("\(what) \(counted() - before)")
    }
    do {
        let store = try openStore(file, .manual)
        try store.transaction { transaction in
            for number in 0..<keys { try transaction.set(list(number), at: [.key("key-\(number)")]) }
        }
        try store.close()
    }
    let store = try openStore(file, .manual)
    let value = try list(-1)
    _ = try store.value(forKey: "key-1")
    try count("first") { try store.set(value, forKey: "key-1") }
    try count("again") { try store.set(value, forKey: "key-2") }
    let watch = try store.watch(.everything) { _ in }
    // With the first pump the runtime makes types, for which it asks memory 16 KB at a time.
    try store.set(list(-5), forKey: "key-3")
    _ = try store.pump()
    try count("watched") { try store.set(list(-2), forKey: "key-1") }
    try count("told") { _ = try store.pump() }
    try store.sync()
    try count("flushed") { try store.set(list(-3), forKey: "key-1") }
    if file.hasSuffix(".sqlite") {
        try count("durable") { try store.sync() }
        try store.set(list(-4), forKey: "key-1")
        try count("durable again") { try store.sync() }
    }
    watch.cancel()
    try store.close()
}

/// Says of each format that is written how large a file of `count` strings is, and how many bytes it asks memory for.
func serializations(count: Int) throws {
    let counted = counter()
    let value = try PropertyList(any: (0..<count).map { "string number \($0)" })
    for format in [PropertyListFormat.xml, .json, .binary] {
        let before = counted()
        let size = try value.serialized(as: format).count
        say("\(format) \(size) \(counted() - before)")
    }
}

/// What gives the bytes that were asked for so far.
private func counter() -> @convention(c) () -> Int {
    guard let symbol = dlsym(nil, "allocated_bytes") else {
        say("error nothing counts")
        exit(1)
    }
    return unsafeBitCast(symbol, to: (@convention(c) () -> Int).self)
}
