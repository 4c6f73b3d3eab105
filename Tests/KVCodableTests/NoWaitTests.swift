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
