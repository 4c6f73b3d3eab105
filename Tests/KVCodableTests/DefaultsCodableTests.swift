import Foundation
import KVCodable
import KeyValueCoding
import PropertyLists
import Testing

private struct Window: Codable, Equatable, Sendable {
    var title: String
    var width: Int?
    var tabs: [Tab] = []
    var extras: [String: Int] = [:]
    var opened: Date?
}

private struct Tab: Codable, Equatable, Sendable {
    var name: String
}

@Suite struct DefaultsCodableTests {
    let store: DefaultsStore

    init() throws { store = try memoryStore() }

    @Test("reads back what it wrote, as values that a person can read")
    func roundTrip() throws {
        let window = Window(
            title: "x", width: 3, tabs: [Tab(name: "a")], extras: ["n": 1],
            opened: Date(timeIntervalSinceReferenceDate: 5))
        #expect(try store.decode(Window.self, forKey: "window") == nil)
        try store.encode(window, forKey: "window")
        #expect(try store.decode(Window.self, forKey: "window") == window)
        #expect(try store.decode(String.self, at: ["window", "tabs", 0, "name"]) == "a")
        #expect(try store.value(at: ["window", "opened"])?.date == 5)
        try store.encode(Int?.none, forKey: "window")
        #expect(try store.value(at: ["window"]) == nil)
    }

    // proves: G6
    @Test("with immediate durability a typed change that cannot be written is not kept")
    func notKept() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var options = DefaultsStore.Options()
        options.durability = .immediate
        let path = folder.appendingPathComponent("a.plist").path
        let store = try DefaultsStore.open(path: path, options: options)
        try store.encode([Tab(name: "a")], forKey: "tabs")
        let lock = folder.appendingPathComponent(".a.plist.lock")
        try FileManager.default.removeItem(at: lock)
        try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: false)
        let before = try store.snapshot()
        for _ in 0..<2 {
            #expect(throws: DefaultsError.self) { try store.encode(Tab(name: "b"), at: ["tabs", 1]) }
            #expect(throws: DefaultsError.self) { try store.encode([Tab](), forKey: "tabs") }
            #expect(throws: DefaultsError.self) { try store.encode(1, forKey: "other") }
            #expect(try store.snapshot() == before)
        }
        try FileManager.default.removeItem(at: lock)
        try store.encode(Tab(name: "b"), at: ["tabs", 1])
        #expect(try store.decode([Tab].self, forKey: "tabs") == [Tab(name: "a"), Tab(name: "b")])
        try store.close()
        let again = try DefaultsStore.open(path: path, options: options)
        #expect(try again.decode([Tab].self, forKey: "tabs") == [Tab(name: "a"), Tab(name: "b")])
    }

    @Test("a typed set refuses what a file could not hold, also where the type changes the value or keeps parts of it")
    func refusesUnfit() throws {
        let registry = TypeRegistry()
        let type = try registry.declare("struct Kept { number: Double; any: Any?; table: [String: Int]? }")[0]
        let unfit: [String: Any] = ["number": 1, "table": ["CF$UID": 1.0]]
        let foreign: [String: Any] = ["number": 1, "any": ["x": ["CF$UID": 1]]]
        for value in [unfit, foreign] {
            let error = #expect(throws: DefaultsError.self) { try store.set(list(value), at: ["a"], as: type) }
            #expect(error?.code == .invalidValue)
            #expect(error?.message.contains("would be read back as a UID") == true)
        }
        var deep: Any = 1
        for _ in 0..<509 { deep = ["x": deep] }
        try store.set(list(["number": 1, "any": deep]), at: ["a"], as: type)
        deep = ["x": deep]
        #expect(throws: DefaultsError.self) {
            try store.set(list(["number": 1, "any": deep]), at: ["b", "c"], as: type)
        }
        #expect(try store.keys() == ["a"])
    }

    // proves: G57
    @Test("a typed set keeps what its type does not know")
    func keepsUnknown() throws {
        try store.set(
            list([
                "title": "x", "width": 3, "new": true, "extras": ["old": 1],
                "tabs": [["name": "a", "colour": "red"], ["name": "b", "colour": "blue"]],
            ]), at: ["window"])
        var window = try #require(try store.decode(Window.self, forKey: "window"))
        window.width = nil
        window.extras = ["fresh": 2]
        // An element is recognised by its name: another name is another element.
        window.tabs[1].name = "c"
        try store.encode(window, forKey: "window")
        #expect(
            try store.value(at: ["window"])
                == list([
                    "title": "x", "new": true, "extras": ["fresh": 2],
                    "tabs": [["name": "a", "colour": "red"], ["name": "c"]],
                ]))
        window.tabs.removeLast()
        window.tabs.append(Tab(name: "d"))
        window.tabs.append(Tab(name: "e"))
        try store.encode(window, forKey: "window")
        #expect(
            try store.value(at: ["window", "tabs"])
                == list([["name": "a", "colour": "red"], ["name": "d"], ["name": "e"]]))
    }

    @Test("a typed set removes what its type knows and leaves out, also where nothing else differs")
    func removesKnown() throws {
        struct Old: Codable {
            var width = 640
            init() {}
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                width =
                    try container.decodeIfPresent(Int.self, forKey: .size) ?? container.decode(Int.self, forKey: .width)
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(width, forKey: .width)
            }
            enum Keys: CodingKey { case width, size }
        }
        try store.set(list(["width": 640, "size": 640, "new": true]), at: ["a"])
        try store.encode(Old(), forKey: "a")
        #expect(try store.value(at: ["a"]) == list(["width": 640, "new": true]))
        struct Outer: Codable {
            var innerWindow = Inner()
            struct Inner: Codable { var windowTitle: String? }
        }
        try store.set(list(["inner_window": ["window_title": "x", "new": 1]]), at: ["b"])
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        try store.encode(Outer(), forKey: "b", encoder: encoder)
        #expect(try store.value(at: ["b"]) == list(["inner_window": ["new": 1]]))
    }

    @Test("a value that does not fit its type is an error with its path, and never a default")
    func misfit() throws {
        try store.set(list(["title": "x", "tabs": [["name": 5]], "extras": [String: Any]()]), at: ["window"])
        let error = #expect(throws: DecodingError.self) { try store.decode(Window.self, forKey: "window") }
        guard case .typeMismatch(_, let context)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["window", "tabs", "Index 0", "name"])
    }

    @Test("update changes a value in a transaction, and removes it for nil")
    func updates() throws {
        try store.update(Int.self, forKey: "count") { $0 = ($0 ?? 0) + 1 }
        #expect(try store.update(Int.self, forKey: "count") { $0 = ($0 ?? 0) + 1 } == 2)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try store.update(Int.self, forKey: "count") { count in
                count = 9
                throw Stop()
            }
        }
        #expect(try store.decode(Int.self, forKey: "count") == 2)
        try store.update(Int.self, forKey: "count") { $0 = nil }
        #expect(try store.decode(Int.self, forKey: "count") == nil)
    }

    @Test("stores an archive of an older program in its Codable form, once", arguments: [false, true])
    func archives(asData: Bool) throws {
        let uid = { (number: UInt32) in PropertyListUID(number) }
        let archive = try list([
            "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": uid(1)],
            "$objects": [
                "$null", ["$class": uid(3), "name": uid(2)] as [String: Any], "old",
                ["$classname": "Tab", "$classes": ["Tab", "NSObject"]] as [String: Any],
            ] as [Any],
        ])
        let stored = asData ? try list(Data(archive.serialized(as: .binary))) : archive
        try store.set(stored, at: ["tab"])
        let error = #expect(throws: DecodingError.self) { try store.decode(Tab.self, forKey: "tab") }
        guard case DecodingError.typeMismatch(_, let context)? = error else { throw try #require(error) }
        #expect(
            context.debugDescription == """
                Expected Tab at tab, found a keyed archive (NSKeyedArchiver); migrateArchive stores it in the type's \
                form, unarchived() gives its plain value
                """)
        #expect(context.codingPath.map(\.stringValue) == ["tab"])
        #expect(try store.migrateArchive(Tab.self, forKey: "tab", keepingOldAs: "tab before"))
        #expect(try store.value(at: ["tab"]) == list(["name": "old"]))
        #expect(try store.value(at: ["tab before"]) == stored)
        #expect(try !store.migrateArchive(Tab.self, forKey: "tab", keepingOldAs: "tab before"))
        #expect(try store.decode(Tab.self, forKey: "tab") == Tab(name: "old"))
        try store.set(list(["$archiver": "NSKeyedArchiver", "$objects": ["$null"]]), at: ["broken"])
        #expect(throws: PropertyListError.self) { try store.migrateArchive(Tab.self, forKey: "broken") }
    }

    /// An archive of an older program, and a type that every dictionary has.
    private func archivedSound() throws -> (archive: PropertyList, type: CodableType) {
        let archive = try list([
            "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": PropertyListUID(1)],
            "$objects": [
                "$null", ["$class": PropertyListUID(2), "volume": 3] as [String: Any],
                ["$classname": "Sound", "$classes": ["Sound", "NSObject"]] as [String: Any],
            ] as [Any],
        ])
        let registry = TypeRegistry()
        try registry.declare("struct Sound { volume: Int = 7 }")
        return (archive, try registry.type("Sound"))
    }

    @Test("refuses an archive as a type, also after the archive itself was decoded")
    func decodedArchive() throws {
        let (archive, type) = try archivedSound()
        try store.set(archive, at: ["sound"])
        let stored = try #require(try store.stored(at: ["sound"]))
        #expect(try type.decode(stored)["volume"]?.integer == 7)
        let error = #expect(throws: TypeError.self) { try store.value(at: ["sound"], as: type) }
        #expect(error?.code == .mismatch && error?.path == ["sound"])
        #expect(
            error?.description == """
                Expected Sound at sound, found a keyed archive (NSKeyedArchiver); migrateArchive stores it in the \
                type's form, unarchived() gives its plain value
                """)
        #expect(error?.inTypeLanguage.description.contains("; migrate_archive stores it") == true)
        for name in ["[String: Any]", "[Int]"] {
            #expect(throws: TypeError.self) { try store.value(at: ["sound"], as: TypeRegistry().type(name)) }
        }
        #expect(try store.value(at: ["sound"], as: TypeRegistry().type("Any")) == archive)
        let data = try list(Data(archive.serialized(as: .binary)))
        try store.set(data, at: ["sound"])
        #expect(throws: TypeError.self) { try store.value(at: ["sound"], as: type) }
        #expect(try store.value(at: ["sound"], as: TypeRegistry().type("Data?")) == data)
        #expect(try store.decode(Data.self, forKey: "sound") == Data(archive.serialized(as: .binary)))
        #expect(try type.decode(data.unarchived())["volume"]?.integer == 3)
    }

    @Test("a typed set over an archive keeps nothing of it, and over else what the type does not know")
    func setsOverArchive() throws {
        let (archive, type) = try archivedSound()
        let louder = try list(["volume": 5])
        try store.set(archive, at: ["sound"])
        try store.set(louder, at: ["sound"], as: type)
        #expect(try store.stored(at: ["sound"]) == louder)
        try store.set(list(["volume": 1, "own": true]), at: ["sound"])
        try store.set(louder, at: ["sound"], as: type)
        #expect(try store.stored(at: ["sound"]) == list(["volume": 5, "own": true]))
    }

    @Test("a property has its default while the key is absent, and says what was wrong")
    func wrapper() throws {
        let volume = Preference(wrappedValue: 7, "volume", in: store)
        #expect(volume.wrappedValue == 7)
        volume.wrappedValue = 8
        #expect(try store.value(at: ["volume"])?.integer == 8)
        try volume.reset()
        #expect(volume.wrappedValue == 7)
        #expect(volume.error() == nil)
        try store.set(list("loud"), at: ["volume"])
        #expect(volume.wrappedValue == 7)
        #expect(volume.projectedValue.error() is DecodingError)
    }

    @Test("tells changes as an asynchronous sequence, which ends with the store", .timeLimit(.minutes(1)))
    func sequence() async throws {
        let values = store.values(Int.self, forKey: "n")
        let store = self.store
        var seen: [Int?] = []
        for try await value in values {
            seen.append(value)
            switch seen.count {
            case 1: try store.encode(1, forKey: "n")
            case 2: _ = try store.remove(at: ["n"])
            case 3: try store.close()
            default: break
            }
        }
        #expect(seen == [nil, 1, nil])
    }

    @Test("a closed store ends the sequence of its changes", .timeLimit(.minutes(1)))
    func sequenceEnds() async throws {
        let changes = try store.changes(of: .everything)
        try store.set(list(1), at: ["a"])
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.path == ["a"])
        try store.close()
        #expect(await iterator.next() == nil)
    }
}
