import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// The commit protocol's work on the file and its folder.
@Suite struct StoredFileTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var file: String { folder.file("a.plist") }

    private func events(of store: DefaultsStore) throws -> [DefaultsEvent] {
        let seen = Box<[DefaultsEvent]>([])
        let watch = try store.watchEvents { event in seen.change { $0.append(event) } }
        _ = try store.pump()
        watch.cancel()
        return seen.value
    }

    // proves: G28, G72
    @Test("makes the file for its owner alone, and keeps an old file's mode")
    func modes() throws {
        try DefaultsStore.open(path: file).set(list(1), at: ["a"])
        #expect(try folder.mode(of: "a.plist") == 0o600)
        #expect(try folder.mode(of: ".a.plist.lock") == 0o600)
        chmod(file, 0o640)
        let store = try DefaultsStore.open(path: file)
        try store.set(list(2), at: ["a"])
        try store.close()
        #expect(try folder.mode(of: "a.plist") == 0o640)
    }

    @Test("says where its file is without links and steps back, wherever the program goes")
    func path() throws {
        try FileManager.default.createDirectory(atPath: folder.file("inner"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: "inner")
        let inner = try DefaultsStore.open(path: folder.file("link/a.plist"))
        #expect(inner.file == folder.file("inner/a.plist"))
        let outer = try DefaultsStore.open(path: folder.file("inner/../a.plist"))
        #expect(outer.file == file)
    }

    // proves: G32
    @Test("keeps the file that a write replaces as a backup, and another an hour later")
    func backup() throws {
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .immediate })
        try store.set(list(1), at: ["a"])
        try store.set(list(2), at: ["a"])
        try store.set(list(3), at: ["a"])
        #expect(try folder.names() == [".a.plist.lock", "a.plist", "a.plist.bak"])
        #expect(try parsed("a.plist.bak") == list(["a": 1]))
        #expect(try parsed("a.plist") == list(["a": 3]))
        try folder.age("a.plist.bak", by: 3500)
        try store.set(list(4), at: ["a"])
        #expect(try parsed("a.plist.bak") == list(["a": 1]))
        try folder.age("a.plist.bak", by: 3601)
        try store.set(list(5), at: ["a"])
        #expect(try parsed("a.plist.bak") == list(["a": 4]))
        // The clock was set back meanwhile.
        try folder.age("a.plist.bak", by: -60)
        try store.set(list(6), at: ["a"])
        #expect(try parsed("a.plist.bak") == list(["a": 5]))
    }

    private func parsed(_ name: String) throws -> PropertyList {
        try PropertyList.parse([UInt8](Data(contentsOf: URL(fileURLWithPath: folder.file(name))))).list
    }

    // proves: G28
    @Test("keeps the format of an old file", arguments: [PropertyListFormat.xml, .binary])
    func formats(format: PropertyListFormat) throws {
        try Data(list(["a": 1]).serialized(as: format)).write(to: URL(fileURLWithPath: file))
        let store = try DefaultsStore.open(path: file, options: options { $0.format = format == .xml ? .binary : .xml })
        try store.set(list(2), at: ["a"])
        try store.close()
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: file)))
        #expect(try PropertyList.parse(bytes).format == format)
    }

    @Test(
        "what is wrong in a file for JSON is told as JSON, and never taken for OpenStep",
        arguments: [
            ("{volume: 7}", "Expected a key in quotes, found v (line 1, column 2)"),
            ("{ volume = 7; }", "Expected a key in quotes, found v (line 1, column 3)"),
            ("{'volume': 7}", "Expected a key in quotes, found ' (line 1, column 2)"),
            ("{ // c\n \"volume\": 7 }", "Expected a key in quotes, found / (line 1, column 3)"),
            ("{\"volume: 7,\n\"theme\": 1}", "Expected an escaped control character, found U+000a (line 1, column 13)"),
            ("// nothing", "Expected a value, found / (line 1, column 1)"),
        ])
    func wrongJSON(text: String, message: String) throws {
        try folder.write(text, to: "a.json")
        let error = #expect(throws: DefaultsError.self) { try DefaultsStore.open(path: folder.file("a.json")) }
        #expect(error?.code == .corrupt && error?.file == folder.file("a.json"))
        #expect("\(try #require(error))".contains(message))
        #expect(throws: PropertyListError.self) { try PropertyListFile.read(folder.file("a.json")) }
        #expect(try folder.text(of: "a.json") == text)
    }

    @Test("a root that is no dictionary is an error, and the file stays")
    func wrongRoot() throws {
        try Data(list([1, 2]).serialized(as: .xml)).write(to: URL(fileURLWithPath: file))
        let expected = DefaultsError(.invalidValue, expected: "Dictionary at the root", found: "Array", file: file)
        #expect(throws: expected) { try DefaultsStore.open(path: file) }
        #expect(try folder.names() == ["a.plist"])
    }

    // proves: G25
    @Test("waits for a file that another program is writing in place, whatever its clock says", arguments: [0, 3600])
    func halfWritten(secondsAhead: TimeInterval) throws {
        let whole = try String(decoding: list(["a": 1]).serialized(as: .xml), as: UTF8.self)
        try folder.write(String(whole.prefix(60)), to: "a.plist")
        try folder.age("a.plist", by: -secondsAhead)
        let path = file
        let writer = Thread {
            usleep(50_000)
            let handle = FileHandle(forWritingAtPath: path)
            try? handle?.write(contentsOf: Data(whole.utf8))
            try? handle?.close()
        }
        writer.start()
        #expect(try DefaultsStore.open(path: file).snapshot() == list(["a": 1]))
        #expect(try folder.names() == ["a.plist"])
    }

    @Test("a damaged file whose time lies ahead is damaged when it has been so for a second")
    func damagedAhead() throws {
        try folder.write("<plist>", to: "a.plist")
        try folder.age("a.plist", by: -3600)
        let start = ContinuousClock.now
        let error = #expect(throws: DefaultsError.self) { try DefaultsStore.open(path: file) }
        #expect(error?.code == .corrupt)
        #expect(ContinuousClock.now - start >= .seconds(1))
    }

    // proves: G25
    @Test("a half-written file is given as long as the longest of the handles says", arguments: [true, false])
    func settles(isSecond: Bool) throws {
        let whole = try String(decoding: list(["a": 1]).serialized(as: .xml), as: UTF8.self)
        let first = isSecond ? try DefaultsStore.open(path: file) : nil
        try folder.write(String(whole.prefix(60)), to: "a.plist")
        // Written two seconds ago, and finished when a second look has been taken: no handle of the usual time waits.
        try folder.age("a.plist", by: 2)
        if first == nil { #expect(throws: DefaultsError.self) { try DefaultsStore.open(path: file) } }
        let path = file
        let writer = Thread {
            usleep(50_000)
            try? Data(whole.utf8).write(to: URL(fileURLWithPath: path))
        }
        writer.start()
        let store = try DefaultsStore.open(path: file, options: options { $0.settleTime = .seconds(3600) })
        try store.refresh()
        #expect(try store.snapshot() == list(["a": 1]))
        #expect(try first?.value(at: ["a"])?.integer ?? 1 == 1)
    }

    @Test("a file that stays half-written for as long as the handle waits is being written, and not damaged")
    func staysHalfWritten() throws {
        let half = try String(decoding: list(["a": 1]).serialized(as: .xml).prefix(60), as: UTF8.self)
        var start = ContinuousClock.now
        var error: DefaultsError?
        repeat {
            start = .now
            try folder.write(half, to: "a.plist")
            error = #expect(throws: DefaultsError.self) {
                try DefaultsStore.open(path: file, options: options { $0.timeout = .milliseconds(20) })
            }
            // It may be so for a second, which a busy machine may take.
        } while ContinuousClock.now - start > .milliseconds(900)
        #expect(error?.code == .timedOut)
        #expect(error?.message.hasPrefix("Another program is writing the file: ") == true)
        #expect(try folder.text(of: "a.plist") == half)
    }

    @Test("follows symbolic links one to the next, and refuses a circle of them")
    func links() throws {
        let other = try TemporaryFolder()
        symlink(other.file("real.plist"), file)
        let store = try DefaultsStore.open(path: file)
        try store.set(list(1), at: ["a"])
        try store.close()
        #expect(try other.names() == [".real.plist.lock", "real.plist"])
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file) == other.file("real.plist"))
        symlink("a.plist", folder.file("twice.plist"))
        let twice = try DefaultsStore.open(path: folder.file("twice.plist"))
        #expect(twice.file == other.file("real.plist"))
        try twice.set(list(2), at: ["a"])
        try twice.close()
        #expect(try folder.names() == ["a.plist", "twice.plist"])
        #expect(try DefaultsStore.open(path: file).value(at: ["a"])?.integer == 2)
        symlink("circle.plist", folder.file("circle.plist"))
        let expected = DefaultsError(
            .unsafeLocation, "More than 40 symbolic links lead from one to the next", file: folder.file("circle.plist"))
        #expect(throws: expected) { try DefaultsStore.open(path: folder.file("circle.plist")) }
    }

    // proves: G73
    @Test("follows no link by a folder in which everybody may rename files", arguments: [true, false])
    func openLinks(isFirst: Bool) throws {
        let (middle, other) = (try TemporaryFolder(), try TemporaryFolder())
        symlink(middle.file("next.plist"), file)
        symlink(other.file("real.plist"), middle.file("next.plist"))
        chmod(isFirst ? folder.path : middle.path, 0o777)
        let expected = DefaultsError(
            .unsafeLocation, "Everybody may rename files in a folder on the way of a symbolic link", file: file)
        #expect(throws: expected) { try DefaultsStore.open(path: file) }
        // In a sticky folder who made a file renames it.
        chmod(isFirst ? folder.path : middle.path, 0o1777)
        #expect(try DefaultsStore.open(path: file).file == other.file("real.plist"))
    }

    // proves: G73
    @Test("refuses to write where everybody may rename files, but reads there")
    func unsafeFolder() throws {
        try Data(list(["a": 1]).serialized(as: .xml)).write(to: URL(fileURLWithPath: file))
        chmod(folder.path, 0o777)
        let store = try DefaultsStore.open(path: file)
        #expect(try store.value(at: ["a"])?.integer == 1)
        let expected = DefaultsError(
            .unsafeLocation, "Everybody may write to the folder and rename its files", file: folder.path)
        #expect(throws: expected) { try store.set(list(2), at: ["a"]) }
    }

    @Test(
        "tells of a folder whose group may replace files, and not of a sticky one", arguments: [0o770, 0o1770, 0o1777],
        ["a.plist", "a.sqlite"])
    func groupWritable(mode: Int, name: String) throws {
        chmod(folder.path, mode_t(mode))
        let store = try DefaultsStore.open(path: folder.file(name))
        for number in 0...1 {
            try store.set(list(number), at: ["a"])
            try store.sync()
        }
        #expect(try events(of: store) == (mode == 0o770 ? [.groupWritableFolder(folder.path)] : []))
        #expect(try store.value(at: ["a"]) == list(1))
    }

    // proves: G73
    @Test(
        "follows no link, and into no folder, of somebody else's", .enabled(if: geteuid() == 0),
        arguments: [true, false])
    func foreignLinks(isLinkForeign: Bool) throws {
        let other = try TemporaryFolder()
        symlink(other.file("real.plist"), file)
        if isLinkForeign { lchown(file, 65534, 65534) } else { chown(other.path, 65534, 65534) }
        let expected = DefaultsError(
            .unsafeLocation, "A symbolic link, or a folder on its way, belongs to somebody else", file: file)
        #expect(throws: expected) { try DefaultsStore.open(path: file) }
        #expect(try other.names().isEmpty)
    }

    // proves: G28
    @Test("keeps owner and group of the old file", .enabled(if: geteuid() == 0))
    func owner() throws {
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .immediate })
        try store.set(list(1), at: ["a"])
        chown(file, 65534, 65533)
        chmod(file, 0o660)
        try store.set(list(2), at: ["a"])
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_uid == 65534 && status.st_gid == 65533)
        #expect(try folder.mode(of: "a.plist") == 0o660)
    }

    @Test(
        "keeps owner or group of the old file where only one is another's", .enabled(if: geteuid() == 0),
        arguments: [(65534, 0), (0, 65533)] as [(uid_t, gid_t)])
    func ownerOrGroup(owner: uid_t, group: gid_t) throws {
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .immediate })
        try store.set(list(1), at: ["a"])
        chown(file, owner, group)
        try store.set(list(2), at: ["a"])
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_uid == owner && status.st_gid == group)
    }

    @Test(
        "who may not give a file away keeps its group where it can, and gives no other group that one's access",
        .enabled(if: geteuid() == 0),
        arguments: [
            (65532, 65533, 0o664, 0o664), (65534, 65532, 0o664, 0o604), (65534, 65532, 0o607, 0o600),
            (65534, 65532, 0o640, 0o600),
        ] as [(uid_t, gid_t, mode_t, Int)])
    func foreignGroup(owner: uid_t, group: gid_t, mode: mode_t, expected: Int) throws {
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .immediate })
        try store.set(list(1), at: ["a"])
        // Whose group a new file gets.
        chown(folder.path, 65534, 65531)
        chmod(folder.path, 0o2700)
        chown(folder.file(".a.plist.lock"), 65534, 65531)
        chown(file, owner, group)
        chmod(file, mode)
        try onAnotherThread {
            becomeAnotherUser()
            try store.set(PropertyList(any: 2), at: ["a"])
        }
        #expect(try parsed("a.plist") == list(["a": 2]))
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_uid == 65534 && status.st_gid == (group == 65533 ? 65533 : 65531))
        #expect(try folder.mode(of: "a.plist") == expected)
    }

    @Test("a lock file of another user is an error, and not waited for", .enabled(if: geteuid() == 0))
    func foreignLock() throws {
        try folder.write("", to: ".a.plist.lock")
        chown(folder.file(".a.plist.lock"), 65534, 65534)
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .immediate })
        let expected = DefaultsError(
            .unsafeLocation, "The lock file must be owned by the current user or root; it is owned by uid 65534",
            file: folder.file(".a.plist.lock"))
        #expect(throws: expected) { try store.set(list(1), at: ["a"]) }
        chown(folder.path, 65534, 65534)
        try store.set(list(1), at: ["a"])
    }

    @Test("a migration that cannot keep the old file is not made")
    func unkept() throws {
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .immediate })
        try store.set(list(1), at: ["a"])
        chmod(folder.path, 0o555)
        try onAnotherThread {
            let transaction = try store.beginTransaction()
            becomeAnotherUser()
            _ = try transaction.beginMigration(to: 1)
            let error = #expect(throws: DefaultsError.self) { try transaction.commit() }
            #expect(error?.code == .accessDenied)
        }
        #expect(try store.snapshot() == list(["a": 1]))
    }

    @Test("a name that leaves no room for the files beside it is refused at once", arguments: [211, 212, 255])
    func longNames(length: Int) throws {
        let path = folder.file(String(repeating: "n", count: length))
        if length == 211 {
            let store = try DefaultsStore.open(path: path)
            try store.set(list(1), at: ["a"])
            return try store.sync()
        }
        let expected = DefaultsError(
            .invalidName, expected: "a file's name of at most 211 bytes", found: "\(length)", file: path)
        #expect(throws: expected) { try DefaultsStore.open(path: path) }
    }

    @Test("a hard link keeps the old file: a write puts another in its place")
    func hardLinks() throws {
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .immediate })
        try store.set(list(1), at: ["a"])
        link(file, folder.file("other.plist"))
        try store.set(list(2), at: ["a"])
        #expect(try parsed("other.plist") == list(["a": 1]))
        #expect(try parsed("a.plist") == list(["a": 2]))
    }

    @Test("takes no link for its lock or its database", arguments: [".a.plist.lock", "a.sqlite"])
    func linksInPlaceOfOurs(name: String) throws {
        let other = try TemporaryFolder()
        let isLock = name.hasPrefix(".")
        symlink(other.file("real"), folder.file(name))
        let error = #expect(throws: DefaultsError.self) {
            // The database's link is followed, as a file's is; one of another user's is not.
            if !isLock { symlink(folder.file(name), other.file("real")) }
            let store = try DefaultsStore.open(path: isLock ? file : folder.file(name))
            try store.set(list(1), at: ["a"])
            try store.sync()
        }
        #expect(error?.code == .unsafeLocation)
        #expect(try other.names() == (isLock ? [] : ["real"]))
    }

    // proves: G75
    @Test("no descriptor of a store is left to a program that this one runs", arguments: ["a.plist", "a.sqlite"])
    func descriptors(name: String) throws {
        let store = try DefaultsStore.open(path: folder.file(name))
        let transaction = try store.beginTransaction()
        _ = try store.watchDescriptor()
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let ours = open.filter { number in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)"))?
                .hasPrefix(folder.path) ?? false
        }
        #expect(ours.count >= 2)
        for number in ours { #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0) }
        transaction.rollback()
    }

    // proves: G109
    @Test("a store that is let go of leaves nothing open", arguments: ["a.plist", "a.sqlite"])
    func leaves(name: String) throws {
        let path = folder.file(name)
        do {
            let store = try DefaultsStore.open(path: path, options: options { $0.durability = .manual })
            let watch = try store.watch(.everything) { _ in }
            try store.set(list(1), at: ["a"])
            try store.sync()
            try store.transaction { _ = try $0.beginMigration(to: 1) }
            try store.beginTransaction().rollback()
            let expected = name == "a.plist" ? ["", "inotify"] : [name, "inotify"]
            #expect(try Set(folder.openNames()).isSuperset(of: expected))
            watch.cancel()
        }
        #expect(try folder.openNames() == [])
        #expect(try !folder.names().contains("a.sqlite-wal"))
        // Neither does one that could not be opened, or whose file could not be read.
        do {
            let store = try DefaultsStore.open(path: path)
            unlink(path)
            try folder.write(String(repeating: "damaged", count: 1000), to: name)
            try folder.age(name)
            try? store.refresh()
        }
        #expect(throws: DefaultsError.self) { try DefaultsStore.open(path: path) }
        #expect(try folder.openNames() == [])
    }

    @Test("removes the temporary files that a killed writer left, and no others")
    func sweeps() throws {
        let others = [
            ".a.plist.my-notes.tmp", ".a.plist.notes.tmp", ".a.plist.other.1y2p0ij32e8e7.tmp",
            ".b.plist.1y2p0ij32e8e7.tmp",
        ]
        for name in [".a.plist.1y2p0ij32e8e7.tmp"] + others {
            try folder.write("x", to: name)
        }
        let store = try DefaultsStore.open(path: file)
        try store.set(list(1), at: ["a"])
        try store.close()
        #expect(
            try folder.names() == ([".a.plist.lock", "a.plist"] + others).sorted())
    }

    @Test("a folder that is missing is an error; a handle that only reads sees nothing")
    func missingFolder() throws {
        let path = folder.file("none/a.plist")
        let error = #expect(throws: DefaultsError.self) { try DefaultsStore.open(path: path) }
        #expect(error?.errno == ENOENT)
        let store = try DefaultsStore.open(path: path, options: options { $0.isReadOnly = true })
        #expect(try store.keys().isEmpty)
    }

    @Test("a FIFO or folder in the file's place is an error: nothing hangs, and it is not replaced")
    func oddities() throws {
        let directory = folder.file("b.plist")
        mkfifo(file, 0o600)
        mkdir(directory, 0o700)
        for path in [file, directory] {
            let error = DefaultsError(.io, expected: "a file", found: "something else", file: path)
            #expect(throws: error) { try DefaultsStore.open(path: path) }
            #expect(throws: error) { try PropertyListFile.read(path) }
            #expect(throws: error) { try PropertyListFile.write(PropertyList(any: ["a": 1]), to: path, as: .xml) }
        }
        #expect(try folder.names() == ["a.plist", "b.plist"])
    }

    @Test("says when a store outgrows its file")
    func outgrown() throws {
        let store = try DefaultsStore.open(path: file)
        try store.transaction { transaction in
            for number in 0...2500 { try transaction.set(list(number), at: [.key("k\(number)")]) }
        }
        let size = try Data(contentsOf: URL(fileURLWithPath: file)).count
        try store.sync()
        try store.set(list(1), at: ["one more"])
        try store.sync()
        #expect(try events(of: store) == [.outgrown(file: file, keys: 2501, bytes: size)])
    }

    // proves: G23
    @Test("takes up what Foundation's UserDefaults would write in place, and keeps its own change")
    func besideUserDefaults() throws {
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .manual })
        try store.set(list(1), at: ["ours"])
        try store.sync()
        try store.set(list(2), at: ["ours"])
        // In place, without a lock, as Foundation writes.
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(list(["ours": 1, "theirs": "x"]).serialized(as: .xml)))
        try handle.close()
        try store.sync()
        #expect(try parsed("a.plist") == list(["ours": 2, "theirs": "x"]))
    }
}
