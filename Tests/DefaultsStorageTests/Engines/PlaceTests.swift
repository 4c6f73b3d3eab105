import Foundation
import PropertyLists
import Testing

@testable import DefaultsStorage

/// Files whose paths lead elsewhere while a store is open, and files that are gone for a moment or for good.
@Suite struct PlaceTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func write(_ values: [String: Any], to name: String) throws {
        try Data(list(values).serialized(as: .xml)).write(to: URL(fileURLWithPath: folder.file(name)))
    }

    /// Two versions of a file, delivered by a link that is swapped.
    private func makeVersions() throws {
        for (version, value) in [("v1", 1), ("v2", 2)] {
            #expect(mkdir(folder.file(version), 0o700) == 0)
            try write(["a": value], to: version + "/a.plist")
        }
        #expect(symlink("v1", folder.file("data")) == 0)
        #expect(symlink("data/a.plist", folder.file("a.plist")) == 0)
    }

    private func swapLink() throws {
        #expect(symlink("v2", folder.file("new")) == 0)
        #expect(rename(folder.file("new"), folder.file("data")) == 0)
        try FileManager.default.removeItem(atPath: folder.file("v1"))
    }

    // MARK: - The path

    // proves: G23
    @Test("a file that a swapped link delivers is the new one, and a watch is told", arguments: [true, false])
    func swappedLink(isReadOnly: Bool) throws {
        try makeVersions()
        let store = try DefaultsStore.open(
            path: folder.file("a.plist"), options: options { $0.isReadOnly = isReadOnly })
        let told = Box<[Int64?]>([])
        let watch = try store.watch(.value(["a"])) { change in told.change { $0.append(change.new?.integer) } }
        #expect(try store.pump() == 0)
        try swapLink()
        #expect(try store.wait(for: .seconds(5)) == 1)
        #expect(told.value == [2])
        guard !isReadOnly else { return watch.cancel() }
        try store.set(list(3), at: ["b"])
        try store.sync()
        #expect(try parsed("v2/a.plist") == list(["a": 2, "b": 3]))
        watch.cancel()
    }

    @Test("a managed file that a swapped link delivers keeps its lock")
    func swappedLock() throws {
        try makeVersions()
        let store = try DefaultsStore.open(
            path: folder.file("own.plist"), options: options { $0.managedFile = folder.file("a.plist") })
        #expect(try store.value(at: ["a"])?.integer == 1)
        try swapLink()
        try store.refresh()
        #expect(try store.value(at: ["a"])?.integer == 2)
        #expect(try store.isForced("a"))
    }

    @Test("changes go where a file was moved to, with a link in its place, merged with what is there")
    func movedIntoRepository() throws {
        #expect(mkdir(folder.file("dotfiles"), 0o700) == 0)
        try write(["a": 1], to: "a.plist")
        let store = try DefaultsStore.open(path: folder.file("a.plist"), options: options { $0.durability = .manual })
        try store.set(list(2), at: ["b"])
        try write(["a": 1, "c": 3], to: "dotfiles/a.plist")
        unlink(folder.file("a.plist"))
        #expect(symlink("dotfiles/a.plist", folder.file("a.plist")) == 0)
        try store.sync()
        #expect(try parsed("dotfiles/a.plist") == list(["a": 1, "b": 2, "c": 3]))
        #expect(try store.snapshot() == list(["a": 1, "b": 2, "c": 3]))
        // The two ways to the file are one store.
        let other = try DefaultsStore.open(path: folder.file("dotfiles/a.plist"))
        try other.set(list(4), at: ["d"])
        #expect(try store.value(at: ["d"])?.integer == 4)
    }

    @Test("a folder to which no path leads any more counts as long as it exists")
    func renamedFolder() throws {
        #expect(mkdir(folder.file("one"), 0o700) == 0)
        let store = try DefaultsStore.open(
            path: folder.file("one/a.plist"), options: options { $0.durability = .manual })
        try store.set(list(1), at: ["a"])
        try store.sync()
        #expect(rename(folder.file("one"), folder.file("two")) == 0)
        try store.set(list(2), at: ["b"])
        try store.sync()
        #expect(try parsed("two/a.plist") == list(["a": 1, "b": 2]))
        // Another folder of the name is the store's.
        #expect(mkdir(folder.file("one"), 0o700) == 0)
        try write(["x": 1], to: "one/a.plist")
        try store.set(list(3), at: ["c"])
        try store.sync()
        #expect(try parsed("one/a.plist") == list(["x": 1, "c": 3]))
        #expect(try parsed("two/a.plist") == list(["a": 1, "b": 2]))
    }

    @Test("a place that is not to be trusted is an error, and nothing is written there")
    func unsafePlace() throws {
        #expect(mkdir(folder.file("open"), 0o700) == 0)
        chmod(folder.file("open"), 0o777)
        try write(["a": 1], to: "a.plist")
        let store = try DefaultsStore.open(path: folder.file("a.plist"), options: options { $0.durability = .manual })
        try store.set(list(2), at: ["b"])
        try write(["a": 9], to: "open/a.plist")
        unlink(folder.file("a.plist"))
        #expect(symlink("open/a.plist", folder.file("a.plist")) == 0)
        let error = #expect(throws: DefaultsError.self) { try store.sync() }
        #expect(error?.code == .unsafeLocation)
        #expect(try parsed("open/a.plist") == list(["a": 9]))
        #expect(try store.snapshot() == list(["a": 1, "b": 2]))
    }

    // MARK: - Handles

    // proves: G50
    @Test("a handle that only reads and one that writes are one store, whichever is opened first")
    func oneDomain() throws {
        for name in ["a.plist", "a.sqlite"] {
            let path = folder.file(name)
            try DefaultsStore.open(path: path, options: options { $0.durability = .immediate }).set(list(1), at: ["a"])
            let reader = try DefaultsStore.open(path: path, options: options { $0.isReadOnly = true })
            let writer = try DefaultsStore.open(path: path, options: options { $0.durability = .manual })
            try writer.set(list(2), at: ["a"])
            #expect(try reader.value(at: ["a"])?.integer == 2, "\(name)")
            #expect(throws: DefaultsError.self) { try reader.set(list(3), at: ["a"]) }
            try writer.sync()
            try writer.close()
            try reader.refresh()
            #expect(try reader.value(at: ["a"])?.integer == 2, "\(name)")
        }
    }

    // MARK: - Absence

    // proves: G25
    @Test("a file that is away for a moment is not gone: nothing is told, and a set waits for it")
    func briefAbsence() throws {
        try write(["a": 1], to: "a.plist")
        let store = try DefaultsStore.open(
            path: folder.file("a.plist"), options: options { $0.durability = .immediate })
        let told = Box(0)
        let watch = try store.watch(.everything) { _ in told.change { $0 += 1 } }
        try store.pump()
        #expect(rename(folder.file("a.plist"), folder.file("a.plist~")) == 0)
        try store.pump()
        #expect(try store.value(at: ["a"])?.integer == 1)
        let back = Thread {
            usleep(60_000)
            rename(folder.file("a.plist~"), folder.file("a.plist"))
        }
        back.start()
        try store.set(list(2), at: ["b"])
        #expect(try parsed("a.plist") == list(["a": 1, "b": 2]))
        try store.pump()
        #expect(told.value == 1)
        watch.cancel()
    }

    // proves: G32
    @Test("a file that stays away was removed: the store is empty, an event tells it, and the backup has the rest")
    func removed() throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"), options: options { $0.durability = .manual })
        try store.set(list(1), at: ["a"])
        try store.sync()
        let events = try Events(of: store)
        unlink(folder.file("a.plist"))
        try store.refresh()
        #expect(try store.snapshot().count == 0)
        #expect(
            try events.pumped() == [
                .removed(file: folder.file("a.plist"), backup: folder.file("a.plist.bak"))
            ])
        #expect(try parsed("a.plist.bak") == list(["a": 1]))
        // The backup of what was removed stays for an hour.
        for number in 1...2 {
            try store.set(list(number), at: ["b"])
            try store.sync()
        }
        #expect(try parsed("a.plist.bak") == list(["a": 1]))
        #expect(try parsed("a.plist") == list(["b": 2]))
    }

    @Test("a program that finds a backup and no file waits before it writes")
    func firstWrite() throws {
        try write(["a": 1], to: "a.plist.bak")
        let store = try DefaultsStore.open(
            path: folder.file("a.plist"), options: options { $0.durability = .immediate })
        let other = Thread {
            usleep(50_000)
            try? self.write(["theirs": 1], to: "a.plist")
        }
        other.start()
        try store.set(list(2), at: ["b"])
        #expect(try parsed("a.plist") == list(["theirs": 1, "b": 2]))
    }

    private func parsed(_ name: String) throws -> PropertyList {
        try PropertyList.parse([UInt8](Data(contentsOf: URL(fileURLWithPath: folder.file(name))))).list
    }
}
