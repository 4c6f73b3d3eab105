import DefaultsStorage
import Foundation
import KVCodable
import PropertyLists
import Testing

/// A store whose dictionary is of a declared type.
@Suite struct SchemaTests {
    let folder: String
    let type: CodableType

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/kvschema-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        type = try #require(
            try TypeRegistry().declare(
                """
                struct Settings { volume: Int(0...10) = 7; window: Window?; any: Any? }
                struct Window { width: Int; title: String? @key(window_title); tags: [String] = [] }
                """
            ).first)
    }

    private func options(_ type: CodableType? = nil) throws -> DefaultsStore.Options {
        var options = DefaultsStore.Options()
        options.schema = try DefaultsSchema(type ?? self.type)
        return options
    }

    private func withStore(
        _ durability: DefaultsDurability = .coalesced, _ name: String = "a.plist",
        _ body: (DefaultsStore) throws -> Void
    ) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = try options()
        options.durability = durability
        let store = try DefaultsStore.open(path: folder + "/" + name, options: options)
        try body(store)
        try store.close()
    }

    private func expectRefusal(_ message: String, _ body: () throws -> Void) {
        let error = #expect(throws: DefaultsError.self) { try body() }
        #expect(error?.code == .typeMismatch)
        #expect(error?.description == message)
        #expect((error?.cause as? TypeError)?.description == message)
    }

    // proves: G54
    @Test(
        "refuses a change that a typed read would not give, and changes nothing", arguments: ["a.plist", "a.sqlite"],
        DefaultsDurability.allCases)
    func refuses(name: String, durability: DefaultsDurability) throws {
        try withStore(durability, name) { store in
            let before = try list(["volume": 3, "window": ["width": 1, "tags": ["a"], "unknown": true], "other": [1]])
            try store.setStored(before, at: [])
            expectRefusal("Expected BinaryInteger at volume, found String") {
                try store.set(list("loud"), forKey: "volume")
            }
            expectRefusal("Expected String at window.tags[0], found Bool") {
                try store.set(list(true), at: ["window", "tags", 0])
            }
            expectRefusal("Expected String at window.window_title, found Int") {
                try store.set(list(1), at: ["window", "window_title"])
            }
            expectRefusal("Dictionary does not contain key window.width") {
                _ = try store.remove(at: ["window", "width"])
            }
            expectRefusal("Expected 0...10 at volume, found 11") {
                try store.import(list(["fresh": 1, "volume": 11]).serialized(as: .binary))
            }
            expectRefusal("Expected 0...10 at volume, found 12") {
                try store.set(list(12), at: ["volume"], ifGeneration: store.generation)
            }
            #expect(try store.dictionary(of: .application) == before)
            try store.set(list("b"), at: ["window", "tags", 1])
            #expect(try store.remove(at: ["window", "tags", 0]))
            #expect(try store.remove(at: ["volume"]))
            try store.set(list(["anything"]), at: ["other"])
            #expect(
                try store.dictionary(of: .application)
                    == list(["window": ["width": 1, "tags": ["b"], "unknown": true], "other": ["anything"]]))
        }
    }

    // proves: G54
    @Test("looks at a transaction when it is committed, nested ones included")
    func transactions() throws {
        try withStore { store in
            try store.transaction { outer in
                try outer.set(list("x"), at: ["window", "window_title"])
                try store.transaction { inner in
                    try inner.setStored(list("not for long"), at: ["volume"])
                    try inner.set(list(1), at: ["window", "width"])
                }
                try outer.set(list(4), at: ["volume"])
            }
            let good = try list(["volume": 4, "window": ["width": 1, "window_title": "x"]])
            #expect(try store.dictionary(of: .application) == good)
            expectRefusal("Dictionary does not contain key window.width") {
                try store.transaction { outer in
                    try outer.set(list(5), at: ["volume"])
                    _ = try outer.remove(at: ["window", "width"])
                }
            }
            #expect(try store.dictionary(of: .application) == good)
            expectRefusal("Expected BinaryInteger at volume, found String") {
                try store.transaction { try $0.set(list("at once"), at: ["volume"]) }
            }
            try store.set(list(6), at: ["volume"])
        }
    }

    @Test("another handle of the same file goes by its own schema, and by that of the handle that it came from")
    func handles() throws {
        try withStore { store in
            let free = try DefaultsStore.open(path: folder + "/a.plist")
            try free.set(list("loud"), forKey: "volume")
            expectRefusal("Expected BinaryInteger at volume, found String") { _ = try store.value(forKey: "volume") }
            #expect(try store.stored(at: ["volume"])?.string == "loud")
            expectRefusal("Expected BinaryInteger at volume, found Bool") {
                try store.anotherHandle().set(list(true), forKey: "volume")
            }
            // Both take part in one transaction: the key's last value has to fit the schema of the handle that has one.
            expectRefusal("Expected BinaryInteger at volume, found String") {
                try free.transaction { transaction in
                    try store.set(list(1), forKey: "volume")
                    try transaction.set(list("quiet"), at: ["volume"])
                }
            }
            try store.set(list(2), forKey: "volume")
        }
    }

    private func volume() throws -> CodableType { try TypeRegistry().type("Int") }

    // proves: G54
    @Test("what is wrong already keeps nobody from opening, and can be put right")
    func wrongAlready() throws {
        try list(["volume": "wrong", "window": ["width": "wrong", "tags": ["a"]]]).serialized(as: .xml)
            .withUnsafeBufferPointer { try Data($0).write(to: URL(fileURLWithPath: folder + "/a.plist")) }
        try withStore { store in
            #expect(try store.stored(at: ["volume"])?.string == "wrong")
            expectRefusal("Expected BinaryInteger at volume, found String") { _ = try store.value(forKey: "volume") }
            let error = #expect(throws: TypeError.self) { try store.value(at: ["volume"], as: volume()) }
            #expect(error?.description == "Expected BinaryInteger at volume, found String")
            expectRefusal("Expected BinaryInteger at window.width, found String") {
                try store.set(list("b"), at: ["window", "tags", 0])
            }
            try store.set(list(1), at: ["window", "width"])
            try store.set(list("b"), at: ["window", "tags", 0])
            try store.set(list(1), forKey: "volume")
        }
    }

    @Test("looks at registered defaults, and at no other layer")
    func layers() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = try options()
        options.arguments = try list(["volume": "from the command line"])
        options.defaults = try list(["volume": true])
        expectRefusal("Expected BinaryInteger at volume, found Bool") {
            _ = try DefaultsStore.open(path: folder + "/a.plist", options: options)
        }
        options.defaults = try list(["volume": 1, "unknown": true])
        let store = try DefaultsStore.open(path: folder + "/a.plist", options: options)
        expectRefusal("Expected 0...10 at volume, found 99") { try store.register(list(["volume": 99, "x": 1])) }
        #expect(try store.dictionary(of: .registered) == list(["volume": 1, "unknown": true]))
        #expect(try store.stored(at: ["volume"])?.string == "from the command line")
        // A part of a lower layer's value: the copy is looked at.
        try store.register(list(["window": ["width": 1]]))
        expectRefusal("Expected BinaryInteger at window.width, found Bool") {
            try store.set(list(true), at: ["window", "width"])
        }
        #expect(try store.dictionary(of: .application) == list([:] as [String: Any]))
        expectRefusal("Dictionary does not contain key window.width") { _ = try store.remove(at: ["window", "width"]) }
    }

    @Test("an open that failed leaves the durability of the other handles")
    func failedOpening() throws {
        try withStore(.immediate) { store in
            var options = DefaultsStore.Options()
            options.durability = .immediate
            options.defaults = try list([1])
            #expect(throws: DefaultsError.self) { try DefaultsStore.open(path: folder + "/a.plist", options: options) }
            try store.set(list(1), forKey: "volume")
            let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder + "/a.plist")))
            #expect(try PropertyList.parse(bytes).list == list(["volume": 1]))
        }
    }

    @Test("sees what a migration has made, and not its way there")
    func migrations() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = folder + "/a.plist"
        try DefaultsStore.open(path: file).set(list("3"), forKey: "volume")
        var options = try options()
        let step: @Sendable (String) -> DefaultsMigration = { text in
            DefaultsMigration(to: 1) { transaction in
                try transaction.set(PropertyList(any: text), at: ["volume"])
                if let number = Int(text) { try transaction.set(PropertyList(any: number), at: ["volume"]) }
            }
        }
        options.migrations = [step("many")]
        expectRefusal("Expected BinaryInteger at volume, found String") {
            _ = try DefaultsStore.open(path: file, options: options)
        }
        options.migrations = [step("3")]
        let store = try DefaultsStore.open(path: file, options: options)
        #expect(try store.snapshot() == list(["volume": 3]))
    }

    @Test("a dictionary says what every value is, the version of migrations apart")
    func dictionaries() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = try options(TypeRegistry().type("[String: [Int]]"))
        options.engine = .memory
        options.migrations = [DefaultsMigration(to: 1) { _ in }]
        let store = try DefaultsStore.open("scratch", options: options)
        try store.set(list([1]), forKey: "any")
        expectRefusal("Expected Array<Any> at other, found Int") { try store.set(list(1), forKey: "other") }
        expectRefusal("Expected BinaryInteger at any[1], found String") { try store.set(list("x"), at: ["any", 1]) }
        let error = #expect(throws: TypeError.self) { try DefaultsSchema(TypeRegistry().type("[Int]")) }
        #expect(error?.code == .description)
        #expect(error?.description == "Expected a struct or a dictionary as a store's schema, found [Int]")
    }

    @Test("eight threads that change parts of one value never leave one that is wrong", .timeLimit(.minutes(1)))
    func threads() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = try options(TypeRegistry().declare("struct S { v: V }  enum V { a(Int), b(String) }")[0])
        options.engine = .memory
        let store = try DefaultsStore.open("scratch", options: options)
        try store.set(list(["a": ["_0": 0]]), forKey: "v")
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<200 {
                        let isText = (number + round) % 2 == 0
                        // Fits one case of the enum or the other: by the time of the set, it must still be that one.
                        try? store.set(PropertyList(any: isText ? "x" : 1), at: ["v", isText ? "b" : "a", "_0"])
                        try? store.set(
                            PropertyList(any: isText ? ["b": ["_0": "y"]] : ["a": ["_0": 2]]), forKey: "v")
                    }
                }
            }
        }
        #expect(try store.value(forKey: "v") != nil)
        try store.set(try #require(try store.value(forKey: "v")), forKey: "v")
    }
}
