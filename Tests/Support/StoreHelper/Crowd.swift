internal import CKVSystem
internal import DefaultsStorage
internal import Glibc
internal import PropertyLists

/// One of the programs of Tests/suites/crowd.py, in Swift: sets keys of its own, adds to a counter, and says when it
/// saw what its peers had set.
///
/// `@unchecked Sendable`: used by one thread, which is also the one that pumps.
final class Crowd: @unchecked Sendable {
    private let name: String
    private let peers: [String]
    private let store: DefaultsStore
    private var seen: [String: Int64] = [:]
    private var notes = ""

    init(_ file: String, _ name: String, peers: [String]) throws {
        self.name = name
        self.peers = peers
        store = try openStore(file, .immediate)
    }

    func run() throws {
        let watch = try store.watch(.everything) { [unowned self] change in note(change) }
        say("ready")
        guard readLine() == "go" else { exit(3) }
        var number = 0
        repeat {
            number += 1
            try write(number)
            notes += "set \(number) \(cs_monotonic_nanoseconds())\n"
            try pump()
        } while !Self.isReadable(0, 0)
        try transaction { transaction in
            try transaction.set(list(number), at: [.key(name + "-latest")])
            try transaction.set(list(number), at: [.key(name + "-final")])
        }
        let end = cs_monotonic_nanoseconds() + 20_000_000_000
        while cs_monotonic_nanoseconds() < end, try !isOver() { try pump() }
        try store.close()
        watch.cancel()
        say(notes + "sum \(number)")
    }

    private func note(_ change: DefaultsChange) {
        guard let value = change.new?.integer,
            let peer = peers.first(where: { change.path == [.key($0 + "-latest")] })
        else { return }
        seen[peer] = value
        notes += "saw \(peer) \(value) \(cs_monotonic_nanoseconds())\n"
    }

    private func write(_ number: Int) throws {
        try transaction { transaction in
            let counter = try transaction.value(at: ["counter"])?.integer ?? 0
            try transaction.set(list(Int(counter) + 1), at: ["counter"])
            try transaction.set(list(number), at: [.key("\(name)-\(number % 50)")])
            try transaction.set(list(number), at: [.key(name + "-latest")])
        }
    }

    /// Begins again where UserDefaults, which knows of no lock, wrote the file.
    private func transaction(_ body: (DefaultsTransaction) throws -> Void) throws {
        while true {
            do {
                return try store.transaction(body)
            } catch let error as DefaultsError where error.code == .conflict {
                continue
            }
        }
    }

    /// Pumps for 20 milliseconds.
    private func pump() throws {
        let end = cs_monotonic_nanoseconds() + 20_000_000
        while case let rest = end - cs_monotonic_nanoseconds(), rest > 0 {
            _ = Self.isReadable(try store.watchDescriptor(), Int32(rest / 1_000_000) + 1)
            _ = try store.pump()
        }
    }

    private func isOver() throws -> Bool {
        try peers.allSatisfy { peer in
            guard let final = try store.value(forKey: peer + "-final")?.integer else { return false }
            return seen[peer] ?? 0 >= final
        }
    }

    private static func isReadable(_ descriptor: Int32, _ milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) == 1
    }
}
