import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// The events that pumping a store tells.
final class Events {
    private let store: DefaultsStore
    private let seen: Box<[DefaultsEvent]>
    private let watch: DefaultsWatch

    init(of store: DefaultsStore) throws {
        let seen = Box<[DefaultsEvent]>([])
        self.store = store
        self.seen = seen
        watch = try store.watchEvents { event in seen.change { $0.append(event) } }
    }

    deinit { watch.cancel() }

    /// Those since the last time.
    func pumped() throws -> [DefaultsEvent] {
        _ = try store.pump()
        defer { seen.change { $0 = [] } }
        return seen.value
    }
}

/// Stores whose file cannot be read: nothing is moved unless the program asked for it, and memory counts.
@Suite struct DamageTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var file: String { folder.file("a.plist") }

    /// A hand edit with a typo, and its error.
    private let typo = "<plist>\n<dict>\n<key>a</kye>\n</dict>\n</plist>"
    private var corrupt: DefaultsError { corrupt(file) }

    private func corrupt(_ file: String) -> DefaultsError {
        var error = DefaultsError(.corrupt, expected: "</key>", found: "</kye> (line 3, column 7)", file: file)
        error.location = .line(3, column: 7)
        return error
    }

    private func write(_ value: Any, to name: String, age: Double) throws {
        try Data(list(value).serialized(as: .xml)).write(to: URL(fileURLWithPath: folder.file(name)))
        try folder.age(name, by: age)
    }

    private func damage(_ content: String? = nil, age: Double = 60) throws {
        try folder.write(content ?? typo, to: "a.plist")
        try folder.age("a.plist", by: age)
    }

    private func parsed(_ name: String) throws -> PropertyList {
        try PropertyList.parse([UInt8](Data(contentsOf: URL(fileURLWithPath: folder.file(name))))).list
    }

    @Test("a backup that was there before the file was read is older, whatever the times say")
    func oldDates() throws {
        try write(["a": 42], to: "a.plist", age: 10_000)
        try write(["a": 1], to: "a.plist.bak", age: 100)
        let store = try open(.manual, .recover)
        #expect(try store.value(forKey: "a")?.integer == 42)
        try damage()
        try store.sync()
        #expect(try parsed("a.plist") == list(["a": 42]))
        #expect(try store.value(forKey: "a")?.integer == 42)
        try? store.close()
    }

    @Test("a backup that came after the file was read is newer where its time is")
    func newerBackup() throws {
        try write(["a": 42], to: "a.plist", age: 10_000)
        let store = try open(.manual, .recover)
        try write(["a": 43], to: "a.plist.bak", age: 100)
        try damage()
        try store.sync()
        #expect(try store.value(forKey: "a")?.integer == 43)
        try store.close()
    }

    private func open(
        _ durability: DefaultsDurability = .manual, _ corruption: DefaultsStore.Options.Corruption = .error
    ) throws -> DefaultsStore {
        try DefaultsStore.open(
            path: file,
            options: options {
                $0.durability = durability
                $0.onCorruption = corruption
            })
    }

    // MARK: - Opening

    // proves: G29
    @Test("opening a damaged file is an error with its line, and touches nothing", arguments: [true, false])
    func opening(isReadOnly: Bool) throws {
        try damage()
        try write(["a": 1], to: "a.plist.bak", age: 30)
        #expect(throws: corrupt) {
            try DefaultsStore.open(path: file, options: options { $0.isReadOnly = isReadOnly })
        }
        #expect(try folder.names() == ["a.plist", "a.plist.bak"])
        #expect(try folder.text(of: "a.plist") == typo)
        #expect(try parsed("a.plist.bak") == list(["a": 1]))
    }

    // proves: G29
    @Test(
        "a text without values is an empty store, and one of nothing is damaged",
        arguments: ["// a = 1;\n", "/**/", "{}", "", "\n"])
    func comments(text: String) throws {
        try folder.write(text, to: "a.plist")
        if text.count > 1 {
            let store = try DefaultsStore.open(path: file)
            #expect(try store.keys().isEmpty)
            try store.set(list(1), at: ["a"])
            try store.close()
            #expect(try parsed("a.plist") == list(["a": 1]))
            #expect(try folder.text(of: "a.plist.bak") == text)
        } else {
            let error = #expect(throws: DefaultsError.self) { try DefaultsStore.open(path: file) }
            #expect(error?.code == .corrupt)
        }
    }

    // proves: G69
    @Test("a damaged database is an error, and neither it nor its journal is moved")
    func openingDatabase() throws {
        let parts = ["a.sqlite", "a.sqlite-shm", "a.sqlite-wal"]
        for name in parts { try folder.write(String(repeating: "no database", count: 500), to: name) }
        let path = folder.file("a.sqlite")
        #expect(throws: DefaultsError(.corrupt, "SQLite: file is not a database", file: path)) {
            try DefaultsStore.open(path: path, options: options { $0.onCorruption = .recover })
        }
        #expect(try folder.names() == [".a.sqlite.open"] + parts)
        #expect(try folder.text(of: "a.sqlite") == String(repeating: "no database", count: 500))
    }

    // MARK: - A running store

    // proves: G30
    @Test("a store goes on with what is in memory, and writes its changes when the file can be read again")
    func running() throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        try store.sync()
        try damage()
        try store.set(list(2), at: ["b"])
        #expect(throws: corrupt) { try store.sync() }
        #expect(throws: corrupt) { try store.refresh() }
        #expect(throws: corrupt) { try store.beginTransaction() }
        #expect(throws: corrupt) { try store.set(list(1), at: ["c"], ifGeneration: store.generation) }
        try store.set(list(3), at: ["c", "d"])
        #expect(try store.snapshot() == list(["a": 1, "b": 2, "c": ["d": 3]]))
        #expect(try folder.text(of: "a.plist") == typo)
        try write(["a": 10, "theirs": true], to: "a.plist", age: 0)
        try store.sync()
        #expect(try parsed("a.plist") == list(["a": 10, "b": 2, "c": ["d": 3], "theirs": true]))
    }

    @Test("a file that is damaged in the middle of a transaction is what its commit tells")
    func inTransaction() throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        try store.sync()
        try store.set(list(2), at: ["b"])
        let transaction = try store.beginTransaction()
        try transaction.set(list(3), at: ["c"])
        try damage()
        #expect(throws: corrupt) { try transaction.commit() }
        #expect(try store.snapshot() == list(["a": 1, "b": 2]))
        #expect(try folder.text(of: "a.plist") == typo)
    }

    @Test("with immediate durability a change says that the file is damaged")
    func immediate() throws {
        let store = try open(.immediate)
        try store.set(list(["x": 1]), at: ["a"])
        try damage()
        #expect(throws: corrupt) { try store.set(list(2), at: ["b"]) }
        #expect(throws: corrupt) { try store.set(list(2), at: ["a", "x"]) }
        #expect(throws: corrupt) { try store.remove(at: ["a", "x"]) }
        #expect(try folder.text(of: "a.plist") == typo)
    }

    // proves: G30
    @Test("each damaged state of a file is told once, with its line, and no failed flush beside it")
    func tellsOnce() throws {
        let store = try open(.coalesced)
        try store.set(list(1), at: ["a"])
        try store.sync()
        let events = try Events(of: store)
        #expect(try events.pumped() == [])
        try damage()
        #expect(try events.pumped() == [.unreadable(corrupt)])
        #expect(throws: corrupt) { try store.sync() }
        try store.set(list(2), at: ["b"])
        // The flush, and the attempts after it.
        usleep(1_300_000)
        #expect(try events.pumped() == [])
        try damage(age: 50)
        #expect(try events.pumped() == [.unreadable(corrupt)])
        try write(["a": 5], to: "a.plist", age: 0)
        #expect(try events.pumped() == [])
        try damage(age: 40)
        #expect(try events.pumped() == [.unreadable(corrupt)])
    }

    @Test("a file that comes damaged, where there was none, is told")
    func comesDamaged() throws {
        let store = try open()
        let events = try Events(of: store)
        try damage()
        #expect(try events.pumped() == [.unreadable(corrupt)])
    }

    @Test("a handle that was opened meanwhile is told the same error, and the first goes on")
    func secondHandle() throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        try store.sync()
        try damage()
        #expect(throws: corrupt) { try open() }
        #expect(try store.value(at: ["a"])?.integer == 1)
    }

    @Test("a root that is no dictionary is no reason to forget what is in memory")
    func wrongRoot() throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        try store.sync()
        let events = try Events(of: store)
        try write([1, 2], to: "a.plist", age: 60)
        let expected = DefaultsError(.invalidValue, expected: "Dictionary at the root", found: "Array", file: file)
        #expect(try events.pumped() == [.unreadable(expected)])
        #expect(throws: expected) { try store.sync() }
        #expect(try store.snapshot() == list(["a": 1]))
    }

    @Test("a damaged file of another layer is told, and what it had counts on")
    func layers() throws {
        try write(["a": 1], to: "managed.plist", age: 60)
        let managed = folder.file("managed.plist")
        let store = try DefaultsStore.open(path: file, options: options { $0.managedFile = managed })
        let events = try Events(of: store)
        _ = try store.watchDescriptor()
        try folder.write(typo, to: "managed.plist")
        try folder.age("managed.plist")
        #expect(try events.pumped() == [.unreadable(corrupt(managed))])
        #expect(try store.value(at: ["a"])?.integer == 1)
    }

    // MARK: - The backup

    @Test("a handle that only reads writes no backup")
    func readingSavesNothing() throws {
        try write(["a": 1], to: "a.plist", age: 60)
        let store = try DefaultsStore.open(
            path: file,
            options: options {
                $0.isReadOnly = true
                $0.onCorruption = .recover
            })
        try damage(age: 30)
        #expect(throws: corrupt) { try store.refresh() }
        #expect(try store.value(at: ["a"])?.integer == 1)
        #expect(try folder.names() == ["a.plist"])
    }

    @Test("a backup that cannot be put in its place leaves nothing behind, and the store goes on")
    func backupInTheWay() throws {
        mkdir(folder.file("a.plist.bak"), 0o700)
        try folder.age("a.plist.bak", by: 7200)
        let store = try open()
        for number in [1, 2] {
            try store.set(list(number), at: ["a"])
            try store.sync()
        }
        #expect(try parsed("a.plist") == list(["a": 2]))
        #expect(try folder.names() == [".a.plist.lock", "a.plist", "a.plist.bak"])
    }

    @Test("a look at a damaged file, and recovering it, leave the lock to others")
    func unlocks() throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        try store.sync()
        try damage()
        #expect(throws: corrupt) { try store.refresh() }
        #expect(folder.isUnlocked("a.plist"))
        #expect(throws: corrupt) { try store.sync() }
        #expect(folder.isUnlocked("a.plist"))
        let recovering = try open(.manual, .recover)
        #expect(try parsed("a.plist") == list(["a": 1]))
        #expect(folder.isUnlocked("a.plist"))
        try damage()
        try store.set(list(2), at: ["a"])
        // What recovers in the middle of a commit keeps its lock until that is made.
        try recovering.transaction { transaction in
            #expect(!folder.isUnlocked("a.plist"))
            try transaction.set(list(3), at: ["b"])
        }
        #expect(folder.isUnlocked("a.plist"))
        #expect(try parsed("a.plist") == list(["a": 2, "b": 3]))
    }

    // MARK: - Recovering

    @Test("recovering keeps the damaged file aside and goes on with the backup", arguments: ["", nil, "bplist00"])
    func recoversBackup(content: String?) throws {
        try damage(content)
        try write(["a": 1], to: "a.plist.bak", age: 7200)
        let store = try open(.manual, .recover)
        #expect(try store.snapshot() == list(["a": 1]))
        let name = try #require(try folder.names().first { $0.hasPrefix("a.plist.corrupt-") })
        #expect(name.wholeMatch(of: /a\.plist\.corrupt-20\d{6}T\d{6}Z/) != nil)
        #expect(try folder.text(of: name) == content ?? typo)
        #expect(try parsed("a.plist") == list(["a": 1]))
        let events = try Events(of: store)
        guard case .recovered(file, folder.file(name), .backup(let age))? = try events.pumped().first else {
            Issue.record("not told")
            return
        }
        #expect((.seconds(7200)...(.seconds(7260))).contains(age))
    }

    @Test("a damaged file whose lock somebody has is not given up: whoever has it may be recovering it")
    func recoveringTimesOut() throws {
        try damage()
        try write(["a": 1], to: "a.plist.bak", age: 7200)
        let descriptor = try folder.lockElsewhere("a.plist")
        let given = options {
            $0.onCorruption = .recover
            $0.timeout = .milliseconds(20)
        }
        #expect(throws: DefaultsError(.timedOut, "Another process kept the store locked", file: file)) {
            try DefaultsStore.open(path: file, options: given)
        }
        #expect(try folder.names() == [".a.plist.lock", "a.plist", "a.plist.bak"])
        close(descriptor)
        let store = try open(.immediate, .recover)
        try store.set(list(2), at: ["b"])
        #expect(try parsed("a.plist") == list(["a": 1, "b": 2]))
    }

    @Test("what another process has recovered while its lock was waited for is taken as it is", .timeLimit(.minutes(1)))
    func recoveredByAnother() throws {
        try damage()
        try write(["a": "old"], to: "a.plist.bak", age: 7200)
        let descriptor = try folder.lockElsewhere("a.plist")
        let found = Box<PropertyList?>(nil)
        let done = DispatchSemaphore(value: 0)
        let path = file
        Thread.detachNewThread {
            let store = try? DefaultsStore.open(path: path, options: options { $0.onCorruption = .recover })
            let content = try? store?.snapshot()
            found.change { $0 = content }
            done.signal()
        }
        // It has found the damage once it has opened the lock, too.
        while try folder.openNames().filter({ $0 == ".a.plist.lock" }).count < 2 { usleep(1000) }
        try write(["a": "new"], to: "a.plist", age: 0)
        close(descriptor)
        done.wait()
        #expect(try found.value == list(["a": "new"]))
        #expect(try parsed("a.plist") == list(["a": "new"]))
        #expect(try folder.names() == [".a.plist.lock", "a.plist", "a.plist.bak"])
    }

    // proves: G31
    @Test("recovering without a backup is an error, never an empty store, and nothing is moved")
    func recoversNothing() throws {
        try damage()
        #expect(throws: corrupt) { try open(.manual, .recover) }
        #expect(try folder.names() == ["a.plist"])
        #expect(try folder.text(of: "a.plist") == typo)
    }

    // proves: G31
    @Test("of memory and backup the newer one takes the place of a damaged file", arguments: [true, false])
    func recoversNewer(isBackupNewer: Bool) throws {
        let store = try open(.manual, .recover)
        try store.set(list(1), at: ["a"])
        try store.sync()
        try write(["a": 7], to: "a.plist.bak", age: isBackupNewer ? -60 : 60)
        try damage()
        try store.set(list(2), at: ["b"])
        try store.sync()
        let name = try #require(try folder.names().first { $0.hasPrefix("a.plist.corrupt-") })
        #expect(try folder.text(of: name) == typo)
        #expect(try parsed("a.plist") == list(["a": isBackupNewer ? 7 : 1, "b": 2]))
        let source = isBackupNewer ? DefaultsRecovery.backup(age: .zero) : .memory
        let events = try Events(of: store)
        #expect(try events.pumped() == [.recovered(file: file, quarantine: folder.file(name), source: source)])
    }

    @Test("a damaged file that cannot be put aside stays where it is, and nothing is set any more")
    func unrecoverable() throws {
        let name = "a.plist"
        let store = try DefaultsStore.open(
            path: folder.file(name),
            options: options {
                $0.durability = .manual
                $0.onCorruption = .recover
            })
        try store.set(list(["x": 1]), at: ["a"])
        try store.sync()
        let events = try Events(of: store)
        try folder.write(typo, to: name)
        try folder.age(name)
        chmod(file, 0o644)
        chmod(folder.path, 0o555)
        try onAnotherThread {
            becomeAnotherUser()
            try store.refresh()
        }
        guard case .unrecoverable(let expected)? = try events.pumped().first else {
            Issue.record("not told")
            return
        }
        #expect(expected.code == .readOnly && expected.errno == EACCES)
        #expect(throws: expected) { try store.set(list(2), at: ["a"]) }
        #expect(throws: expected) { try store.set(list(2), at: ["a", "x"]) }
        #expect(throws: expected) { try store.remove(at: ["a"]) }
        #expect(throws: expected) { try store.remove(at: ["a", "x"]) }
        #expect(throws: expected) { try store.beginTransaction() }
        try store.sync()
        #expect(try store.snapshot() == list(["a": ["x": 1]]))
        #expect(try folder.text(of: name) == typo)
    }

    @Test("once one handle recovers, the others of the process do")
    func recoversForAll() throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        try store.sync()
        try damage()
        #expect(throws: corrupt) { try store.sync() }
        let other = try open(.manual, .recover)
        #expect(try other.snapshot() == list(["a": 1]))
        try store.set(list(2), at: ["a"])
        try store.sync()
        #expect(try parsed("a.plist") == list(["a": 2]))
    }
}
