import DefaultsStorage
import Foundation
import PropertyLists
import Testing

func list(_ value: Any) throws -> PropertyList { try PropertyList(any: value) }

func options(_ change: (inout DefaultsStore.Options) -> Void = { _ in }) -> DefaultsStore.Options {
    var options = DefaultsStore.Options()
    change(&options)
    return options
}

@Suite struct DefaultsStoreTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // proves: G43
    @Test("reads back what was set, before and after it was written", arguments: DefaultsStore.Options.Engine.tested)
    func readsBack(engine: DefaultsStore.Options.Engine) throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"), options: options { $0.engine = engine })
        try store.set(list(["width": 3, "tags": ["a", "b"]]), at: ["window"])
        #expect(try store.value(at: ["window", "tags", 1])?.string == "b")
        try store.sync()
        #expect(try store.value(at: ["window", "width"])?.integer == 3)
        #expect(try store.keys() == ["window"])
        try store.set(list("c"), at: ["window", "tags", 2])
        try store.set(list(9), at: ["window", "new", "deep"])
        #expect(try store.value(at: ["window"]) == list(["width": 3, "tags": ["a", "b", "c"], "new": ["deep": 9]]))
        #expect(try store.remove(at: ["window", "tags", 0]))
        #expect(try !store.remove(at: ["window", "absent"]))
        try store.sync()
        #expect(try store.value(at: ["window", "tags"]) == list(["b", "c"]))
        #expect(try store.remove(at: ["window"]))
        #expect(try store.value(at: ["window"]) == nil)
        try store.close()
    }

    // proves: G27
    @Test("keeps what other programs wrote into the file")
    func keepsOthers() throws {
        let file = folder.file("a.plist")
        try Data(list(["Other Key": [1, 2], "mine": ["a": 1, "theirs": true]]).serialized(as: .xml))
            .write(to: URL(fileURLWithPath: file))
        let store = try DefaultsStore.open(path: file)
        try store.set(list(2), at: ["mine", "a"])
        try store.close()
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: file)))
        #expect(
            try PropertyList.parse(bytes).list
                == list(["Other Key": [1, 2], "mine": ["a": 2, "theirs": true]]))
    }

    // proves: G9
    @Test("merges changes by path with what another handle's process wrote meanwhile")
    func merges() throws {
        let file = folder.file("a.plist")
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .manual })
        try store.set(list(["a": 1, "b": 1]), at: ["x"])
        try store.sync()
        try store.set(list(2), at: ["x", "a"])
        try Data(list(["x": ["a": 1, "b": 7], "y": 3]).serialized(as: .xml)).write(to: URL(fileURLWithPath: file))
        try store.sync()
        #expect(try store.snapshot() == list(["x": ["a": 2, "b": 7], "y": 3]))
    }

    // proves: G8
    @Test("rolls a transaction back when its body throws, and commits it when it returns")
    func transactions() throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try store.transaction { transaction in
                try transaction.set(list(1), at: ["a"])
                #expect(try transaction.value(at: ["a"])?.integer == 1)
                throw Stop()
            }
        }
        #expect(try store.value(at: ["a"]) == nil)
        try store.transaction { transaction in
            try transaction.set(list(1), at: ["a"])
            try store.transaction { try $0.set(list(2), at: ["b"]) }
        }
        #expect(try store.snapshot() == list(["a": 1, "b": 2]))
    }
}

extension DefaultsStore.Options.Engine {
    static var tested: [Self] { [.propertyList, .sqlite, .memory] }
}
