import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// When what was set is in the file, and what each of several handles has for itself.
@Suite struct DurabilityTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("immediate: in the file when set returns; manual: at sync and at close, and not before")
    func atOnceAndAtSync() throws {
        let immediate = try folder.open(.immediate)
        try immediate.set(list(1), at: ["a"])
        #expect(try folder.stored() == list(["a": 1]))
        try immediate.set(list(2), at: ["b", "c"])
        #expect(try immediate.remove(at: ["a"]))
        #expect(try folder.stored() == list(["b": ["c": 2]]))
        try immediate.close()
        let manual = try folder.open(.manual)
        try manual.set(list(3), at: ["a"])
        #expect(try folder.stored() == list(["b": ["c": 2]]))
        try manual.sync()
        #expect(try folder.stored() == list(["a": 3, "b": ["c": 2]]))
        try manual.set(list(4), at: ["a"])
        try manual.close()
        #expect(try folder.stored() == list(["a": 4, "b": ["c": 2]]))
    }

    @Test("coalesced: in the file without another call, a moment later", .timeLimit(.minutes(1)))
    func coalesced() throws {
        let store = try folder.open(.coalesced)
        var descriptor = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
        let start = Date()
        try store.set(list(1), at: ["a"])
        try store.set(list(2), at: ["b"])
        // The store's own write wakes who watches its folder.
        while try folder.stored() == nil {
            #expect(poll(&descriptor, 1, 10_000) == 1)
            _ = try store.pump()
        }
        #expect(try folder.stored() == list(["a": 1, "b": 2]))
        // 100 ms are promised; a busy machine may take its time to run the thread.
        #expect(Date().timeIntervalSince(start) < 2)
    }

    @Test("the strictest durability of the handles that are open goes for all of them")
    func strictest() throws {
        let manual = try folder.open(.manual)
        try manual.set(list(1), at: ["a"])
        #expect(try folder.stored() == nil)
        let immediate = try folder.open(.immediate)
        try manual.set(list(2), at: ["b"])
        #expect(try folder.stored() == list(["a": 1, "b": 2]))
        try immediate.close()
        try manual.set(list(3), at: ["c"])
        #expect(try folder.stored() == list(["a": 1, "b": 2]))
        try manual.close()
        #expect(try folder.stored() == list(["a": 1, "b": 2, "c": 3]))
    }

    @Test("handles share what is set, and have registered defaults, arguments and the right to write for themselves")
    func ownParts() throws {
        let first = try DefaultsStore.open(
            path: folder.file,
            options: options {
                $0.defaults = try? list(["d": 1])
                $0.arguments = try? list(["x": 1])
            })
        let second = try folder.open(.manual)
        let reader = try DefaultsStore.open(path: folder.file, options: options { $0.isReadOnly = true })
        try first.set(list(1), at: ["a"])
        for handle in [first, second, reader] { #expect(try handle.value(at: ["a"])?.integer == 1) }
        #expect(try first.snapshot() == list(["a": 1, "d": 1, "x": 1]))
        #expect(try second.snapshot() == list(["a": 1]))
        try second.register(list(["d": 2]))
        #expect(try first.value(at: ["d"])?.integer == 1)
        try reader.close()
        #expect(throws: DefaultsError(.closed, "The store was closed")) { try reader.value(at: ["a"]) }
        #expect(try first.value(at: ["a"])?.integer == 1)
    }

    @Test("who only reads changes nothing, makes nothing, and sees what is written")
    func readOnly() throws {
        let reader = try DefaultsStore.open(path: folder.file, options: options { $0.isReadOnly = true })
        let expected = DefaultsError(.readOnly, "The store was opened read-only", at: ["a"], file: folder.file)
        #expect(throws: expected) { try reader.set(list(1), at: ["a"]) }
        #expect(throws: expected) { try reader.remove(at: ["a"]) }
        let whole = DefaultsError(.readOnly, "The store was opened read-only", file: folder.file)
        #expect(throws: whole) { try reader.beginTransaction() }
        #expect(throws: whole) { try reader.import(Array("{\"a\": 1}".utf8)) }
        try reader.sync()
        #expect(try folder.names().isEmpty)
        try folder.write(["a": 7], as: .binary)
        try reader.refresh()
        #expect(try reader.value(at: ["a"])?.integer == 7)
        try reader.close()
        #expect(try folder.names() == ["a.plist"])
    }
}
