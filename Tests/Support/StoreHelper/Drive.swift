internal import DefaultsStorage
internal import Glibc
internal import PropertyLists

/// Takes the steps in each line of standard input, with `;` between them, and answers each line once: `ok`, or the
/// first error. The steps behind an error in its line are taken all the same.
///
/// The steps: `set PATH VALUE`, with the value in JSON; `within PATH VALUE`, which sets it in a transaction;
/// `add PATH`, which adds 1 to a number; `begin` and `commit` of a transaction; `remove PATH`; `sync`; `pump`, whose
/// error is the one told as unreadable; `told`, whose error is the conflict or the failed flush told since then;
/// `see PATH`, which waits on the descriptor and pumps until the value is there; `child`, which leaves a process that
/// was made without fork's handlers; `migrate`, to version 1; `close`; `peek NAME`, which opens and closes that file of
/// the store's folder, as other parts of a host do; `read`, which reads the store's file as a property list. A path's steps have `.` between them, those that
/// are numbers are indexes.
func drive(_ file: String, _ durability: DefaultsDurability) throws {
    let store = try openStore(file, durability)
    let told = Told()
    let watch = try store.watchEvents {
        if case .unreadable(let error) = $0 { told.error = error }
        if case .conflict(let error) = $0 { told.trouble = error }
        if case .flushFailed(let error) = $0 { told.trouble = error }
    }
    defer { watch.cancel() }
    var transaction: DefaultsTransaction?
    while let line = readLine() {
        var failure: String?
        for step in line.split(separator: ";") {
            do {
                let words = step.split(separator: " ").map { String($0) }
                if words == ["begin"] {
                    transaction = try store.beginTransaction()
                } else if words == ["commit"] {
                    try transaction?.commit()
                } else {
                    try perform(words, on: store, told)
                }
            } catch {
                failure = failure ?? "error \((error as? DefaultsError)?.code as Any)"
            }
        }
        say(failure ?? "ok")
    }
}

/// Noted on the thread that pumps.
private final class Told: @unchecked Sendable {
    var error: DefaultsError?
    var trouble: DefaultsError?
}

private func perform(_ words: [String], on store: DefaultsStore, _ told: Told) throws {
    let path = PropertyListPath(
        (words.count > 1 ? words[1] : "").split(separator: ".").map { step in
            Int(step).map { .index($0) } ?? .key(String(step))
        })
    switch words.first {
    case "set": try store.set(value(words), at: path)
    case "within": try store.transaction { try $0.set(value(words), at: path) }
    case "add": try store.set(list(Int(store.value(at: path)?.integer ?? 0) + 1), at: path)
    case "child": try leaveChild()
    case "migrate": try store.transaction { _ = try $0.beginMigration(to: 1) }
    case "remove": _ = try store.remove(at: path)
    case "sync": try store.sync()
    case "pump":
        told.error = nil
        _ = try store.pump()
        if let error = told.error { throw error }
    case "told":
        _ = try store.pump()
        defer { told.trouble = nil }
        if let error = told.trouble { throw error }
    case "see":
        while try store.value(at: path) == nil {
            var descriptor = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, 5000) == 1 else { throw DefaultsError(.timedOut, "Nothing was told") }
            _ = try store.pump()
        }
    case "close": try store.close()
    case "read": _ = try PropertyListFile.read(store.file ?? "")
    case "peek":
        let folder = (store.file ?? "").split(separator: "/").dropLast().map { "/" + $0 }.joined()
        Glibc.close(open(folder + "/" + words[1], O_RDONLY))
    default: throw DefaultsError(.misuse, expected: "a step", found: "\(words)")
    }
}

private func leaveChild() throws {
    typealias Fork = @convention(c) () -> pid_t
    guard let fork = dlsym(nil, "_Fork") else { throw DefaultsError(.misuse, "Expected _Fork") }
    if unsafeBitCast(fork, to: Fork.self)() == 0 { while true { pause() } }
}

private func value(_ words: [String]) throws -> PropertyList {
    try PropertyList.parse(Array((words.count > 2 ? words[2] : "").utf8), as: .json).list
}
