import Foundation
import Glibc
import KVCodable
import PropertyLists
import Testing

/// Sets of values of Swift types wait neither for the disk nor for another process.
@Suite struct NoWaitTests {
    struct Window: Codable, Equatable, Sendable {
        var width = 640, tabs = ["a"], title: String?
    }

    // proves: G14
    @Test(
        "while another process has the store locked, sets return, and nothing is written",
        arguments: [
            DefaultsDurability.coalesced, .manual,
        ])
    func locked(_ durability: DefaultsDurability) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("a.plist").path
        var options = DefaultsStore.Options()
        options.durability = durability
        let store = try DefaultsStore.open(path: path, options: options)
        try store.encode(Window(), forKey: "window")
        try store.set([1, 2], forKey: "list")
        try store.sync()
        let before = FileManager.default.contents(atPath: path)
        // A lock of this process on a descriptor of its own is as good as another process's.
        let descriptor = Glibc.open(folder.appendingPathComponent(".a.plist.lock").path, O_RDWR)
        #expect(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
        let preference = Preference(wrappedValue: Window(), "window", in: store)
        let part = Preference(\.width, of: Window(), "window", in: store)
        let start = ContinuousClock.now
        for number in 0..<100 {
            try store.encode(Window(width: number), forKey: "window")
            try store.set(Array(0..<number), forKey: "list")
            preference.wrappedValue.title = "\(number)"
            part.wrappedValue = number + 1
        }
        // A wait for the lock would last the store's whole timeout.
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(preference.error() == nil && part.error() == nil)
        #expect(FileManager.default.contents(atPath: path) == before)
        flock(descriptor, LOCK_UN)
        close(descriptor)
        try store.sync()
        let stored = try PropertyListFile.read(path)?.list["window"]
        #expect(stored == ["width": 100, "tabs": ["a"], "title": "99"])
        try store.close()
    }

    @Test("a hundred sets of arrays, structs and preferences are written as rarely as those of numbers")
    func coalesced() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try DefaultsStore.open(path: folder.appendingPathComponent("a.plist").path)
        let preference = Preference(wrappedValue: Window(), "preference", in: store)
        let sets: [(Int) throws -> Void] = [
            { try store.set(PropertyList($0), forKey: "number") },
            { try store.set(PropertyList(Array(0..<$0).map { PropertyList($0) }), forKey: "list") },
            { try store.encode(Window(width: $0), forKey: "window") }, { preference.wrappedValue.width = $0 },
        ]
        for set in sets {
            try store.sync()
            let observer = inotify_init1(Int32(IN_NONBLOCK))
            defer { close(observer) }
            #expect(inotify_add_watch(observer, folder.path, UInt32(IN_MOVED_TO)) >= 0)
            let start = ContinuousClock.now
            for number in 1...100 { try set(number) }
            try store.sync()
            // One after 100 milliseconds each, one that began with the first set, and the last one for the sync.
            let most = Int((ContinuousClock.now - start) / .milliseconds(100)) + 2
            var events = [UInt8](repeating: 0, count: 16384)
            let read = read(observer, &events, events.count)
            // A commit moves the new file, the old one and the backup: 128 bytes of events at most.
            #expect(read > 0 && read <= 128 * most)
        }
        #expect(preference.error() == nil)
        try store.close()
    }

    // proves: G16
    @Test("an equal set, also of a struct, an array and a preference, writes nothing")
    func equal() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("a.plist").path
        var options = DefaultsStore.Options()
        options.durability = .manual
        let store = try DefaultsStore.open(path: path, options: options)
        try store.encode(Window(), forKey: "window")
        try store.encode(Set(["a", "b", "c", "d"]), forKey: "set")
        try store.sync()
        func inode() throws -> Int {
            try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int ?? 0
        }
        let before = try inode()
        let preference = Preference(wrappedValue: Window(), "window", in: store)
        for _ in 0..<10 {
            try store.encode(Window(), forKey: "window")
            try store.encode(Set(["a", "b", "c", "d"].shuffled()), forKey: "set")
            preference.wrappedValue = Window()
            try store.sync()
        }
        #expect(try inode() == before)
        // An equal set over another program's change is a change.
        try PropertyListFile.write(["window": ["width": 1, "tabs": ["a"]]], to: path, as: .xml)
        try store.set(640, at: ["window", "width"])
        try store.sync()
        #expect(try PropertyListFile.read(path)?.list["window"]?["width"] == 640)
        try store.close()
    }
}
