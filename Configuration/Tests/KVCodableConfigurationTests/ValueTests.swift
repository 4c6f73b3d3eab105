import Configuration
import ConfigurationTesting
import Foundation
import KVCodable
import KVCodableConfiguration
import Testing

/// What the test kit of swift-configuration asks a provider for.
let asked: PropertyList = [
    "string": "Hello", "int": 42, "double": 3.14, "bool": true, "bytes": PropertyList(Data("magic".utf8)),
    "stringy": ["array": ["Hello", "World"]], "inty": ["array": [42, 24]], "doubly": ["array": [3.14, 2.72]],
    "booly": ["array": [true, false]],
    "byteChunky": ["array": [PropertyList(Data("magic".utf8)), PropertyList(Data("magic2".utf8))]],
    "other": [
        "string": "Other Hello", "int": 24, "double": 2.72, "bool": false, "bytes": PropertyList(Data("magic2".utf8)),
        "stringy": ["array": ["Hello", "Swift"]], "inty": ["array": [16, 32]], "doubly": ["array": [0.9, 1.8]],
        "booly": ["array": [false, true, true]],
        "byteChunky": [
            "array": [
                PropertyList(Data("magic".utf8)), PropertyList(Data("magic2".utf8)), PropertyList(Data("magic".utf8)),
            ]
        ],
    ],
]

@Suite("Values of a store as configuration")
struct ValueTests {
    @Test("pass swift-configuration's own test", arguments: ["a.plist", "a.sqlite"])
    func kit(name: String) async throws {
        let folder = try Folder()
        let store = try DefaultsStore.open(path: folder.file(name))
        for (key, value) in asked.entries { try store.set(value, forKey: key) }
        try store.sync()
        try await ProviderCompatTest(provider: DefaultsProvider(store)).runTest()
    }

    @Test("pass it from the layers of a store: defaults, arguments, and what the user set")
    func kitOverLayers() async throws {
        let folder = try Folder()
        var options = DefaultsStore.Options()
        options.defaults = ["string": "Hello", "int": 42, "double": 3.14, "bool": true, "other": ["int": 0]]
        options.arguments = ["other": try #require(asked["other"])]
        let store = try DefaultsStore.open(path: folder.file("a.plist"), options: options)
        for (key, value) in asked.entries where options.defaults?[key] == nil { try store.set(value, forKey: key) }
        try await ProviderCompatTest(provider: DefaultsProvider(store)).runTest()
    }

    @Test("pass it under a schema, whose defaults count")
    func kitUnderSchema() async throws {
        let store = try memoryStore(
            """
            root Settings
            struct Settings {
                string: String = "Hello"; int: Int(0...50) = 42; double: Double = 3.14; bool: Bool = true
                other: Other; more: [Int]?
            }
            struct Other {
                string: String = "Other Hello"; int: Int = 24; double: Double; bool: Bool; bytes: Data
                stringy: Any; inty: [String: [Int]]; doubly: Any; booly: Any; byteChunky: Any
            }
            """)
        for (key, value) in asked.entries where !["string", "int", "double", "bool"].contains(key) {
            if key == "other", var rest = [String: PropertyList](value) {
                rest["string"] = nil
                rest["int"] = nil
                try store.set(PropertyList(rest), forKey: key)
            } else {
                try store.set(value, forKey: key)
            }
        }
        let provider = DefaultsProvider(store)
        try await ProviderCompatTest(provider: provider).runTest()
        #expect(try provider.value(forKey: "other.int", type: .int).value == 24)
    }

    @Test("a managed value counts before the user's")
    func managed() throws {
        let folder = try Folder()
        try folder.write("managed.plist", ["volume": 1])
        var options = DefaultsStore.Options()
        options.managedFile = folder.file("managed.plist")
        let store = try DefaultsStore.open(path: folder.file("a.plist"), options: options)
        let config = ConfigReader(provider: DefaultsProvider(store))
        #expect(config.int(forKey: "volume") == 1)
        #expect(config.snapshot().int(forKey: "volume") == 1)
    }

    /// A store whose `window` has a value of each of four layers, and whose `other` is the user's over a default.
    private func layeredStore(in folder: Folder, _ options: DefaultsStore.Options) throws -> DefaultsStore {
        try folder.write("managed.plist", ["window": ["top": 1]])
        try folder.write("a.plist", ["window": ["width": 800], "other": 5])
        var options = options
        options.managedFile = folder.file("managed.plist")
        options.arguments = ["window": ["left": 2]]
        options.defaults = ["window": ["width": 640, "height": 480, "tags": ["a"]], "other": ["inner": 1]]
        return try DefaultsStore.open(path: folder.file("a.plist"), options: options)
    }

    @Test("a value of a lower layer stands beside one that is stored")
    func layersByPath() async throws {
        let folder = try Folder()
        let store = try layeredStore(in: folder, DefaultsStore.Options())
        let provider = DefaultsProvider(store)
        let expected: [(String, Int?)] = [("top", 1), ("left", 2), ("width", 800), ("height", 480), ("none", nil)]
        let snapshot = provider.snapshot()
        for (name, value) in expected {
            let content = value.map { ConfigValue(.int($0), isSecret: false) }
            let key: AbsoluteConfigKey = ["window", name]
            #expect(try provider.value(forKey: key, type: .int).value == content)
            #expect(try snapshot.value(forKey: key, type: .int).value == content)
            #expect(try await provider.fetchValue(forKey: key, type: .int).value == content)
        }
        let tags = try provider.value(forKey: ["window", "tags"], type: .stringArray).value
        #expect(tags == ConfigValue(.stringArray(["a"]), isSecret: false))
        // A value of another kind hides a dictionary of lower layers.
        #expect(try provider.value(forKey: "other.inner", type: .int).value == nil)
        try store.remove(at: ["window", "height"])
        #expect(try provider.value(forKey: "window.height", type: .int).value == nil)
        #expect(try provider.snapshot().value(forKey: "window.height", type: .int).value == nil)
        try store.reset(at: ["window", "height"])
        #expect(
            try provider.value(forKey: "window.height", type: .int).value == ConfigValue(.int(480), isSecret: false))
    }

    @Test("under a schema, too, whose defaults are the lowest layer")
    func layersByPathUnderSchema() throws {
        var options = DefaultsStore.Options()
        options.schema = try schema(
            """
            root Settings
            struct Settings { window: Window; other: Any? }
            struct Window { top: Int = 0; left: Int = 0; width: Int = 0; height: Int = 0; depth: Int = 24; tags: [String] = [] }
            """)
        let folder = try Folder()
        let store = try layeredStore(in: folder, options)
        let config = ConfigReader(provider: DefaultsProvider(store))
        for (name, value) in [("top", 1), ("left", 2), ("width", 800), ("height", 480), ("depth", 24)] {
            #expect(config.int(forKey: ConfigKey(["window", name])) == value)
            #expect(config.snapshot().int(forKey: ConfigKey(["window", name])) == value)
        }
    }

    @Test("the keys of paths are the components of configuration keys")
    func keys() throws {
        let store = try memoryStore()
        try store.set(800, at: ["ui", "window", "width"])
        try store.set(1, at: ["com.example.app", "a"])
        try store.set([1, 2], at: ["list"])
        let provider = DefaultsProvider(store, name: "scratch")
        let found = try provider.value(forKey: "ui.window.width", type: .int)
        #expect(found == LookupResult(encodedKey: "ui.window.width", value: 800))
        let dotted = try provider.value(forKey: ["com.example.app", "a"], type: .int)
        #expect(dotted == LookupResult(encodedKey: "\"com.example.app\".a", value: 1))
        let context = AbsoluteConfigKey(["ui", "window", "width"], context: ["screen": 2])
        #expect(try provider.value(forKey: context, type: .int).value == 800)
        #expect(provider.providerName == "DefaultsProvider[scratch]")
        for key: AbsoluteConfigKey in [
            ["com.example.app.a"], ["list", "0"], ["ui", "window", "width", "x"], [""], ["\0"],
        ] {
            #expect(try provider.value(forKey: key, type: .int).value == nil)
            #expect(try provider.snapshot().value(forKey: key, type: .int).value == nil)
        }
        let scoped = ConfigReader(provider: provider).scoped(to: "ui.window")
        #expect(scoped.int(forKey: "width") == 800)
    }

    static let wrong: [(String, ConfigType, String)] = [
        ("width", .string, "Expected String at ui.width, found Int"),
        ("width", .bool, "Expected Bool at ui.width, found Int"),
        ("width", .bytes, "Expected Data at ui.width, found Int"),
        ("width", .intArray, "Expected [Int] at ui.width, found Int"),
        ("half", .int, "Expected Int at ui.half, found Double"),
        ("large", .int, "Expected Int at ui.large, found UInt"),
        ("name", .double, "Expected Double at ui.name, found String"),
        ("since", .string, "Expected String at ui.since, found Date"),
        ("tags", .stringArray, "Expected String at ui.tags[1], found Int"),
        ("tags", .byteChunkArray, "Expected Data at ui.tags[0], found String"),
        ("tags", .string, "Expected String at ui.tags, found Array"),
        ("nested", .int, "Expected Int at ui.nested, found Dictionary"),
    ]

    @Test("a value of another kind is an error that says what was expected and found, and where", arguments: wrong)
    func mismatch(name: String, type: ConfigType, message: String) async throws {
        let store = try memoryStore()
        try store.set(
            [
                "width": 800, "half": 0.5, "large": PropertyList(UInt64.max), "name": "x",
                "since": PropertyList(Date()),
                "tags": ["a", 1], "nested": [:],
            ], forKey: "ui")
        let provider = DefaultsProvider(store)
        let key: AbsoluteConfigKey = ["ui", name]
        #expect(words { try provider.value(forKey: key, type: type) } == message)
        #expect(words { try provider.snapshot().value(forKey: key, type: type) } == message)
        await #expect(throws: DefaultsError.self) { try await provider.fetchValue(forKey: key, type: type) }
        #expect(words { try provider.value(forKey: [], type: .int) } == "Expected Int, found Dictionary")
    }

    @Test("a whole number is a double, too, and an empty array is one of each kind")
    func accepted() throws {
        let store = try memoryStore()
        try store.set(2, forKey: "whole")
        try store.set([], forKey: "none")
        try store.set([1, 2.5], forKey: "mixed")
        let config = ConfigReader(provider: DefaultsProvider(store))
        #expect(config.double(forKey: "whole") == 2)
        #expect(config.doubleArray(forKey: "mixed") == [1, 2.5])
        #expect(config.intArray(forKey: "none") == [] && config.stringArray(forKey: "none") == [])
        #expect(config.boolArray(forKey: "none") == [] && config.byteChunkArray(forKey: "none") == [])
    }

    @Test("a value that is not as the schema says is the schema's error, and the others stay")
    func schemaErrors() throws {
        let folder = try Folder()
        try folder.write("a.plist", ["volume": 11, "theme": "drak", "tags": ["a", 1], "loud": true, "other": "kept"])
        var options = DefaultsStore.Options()
        options.schema = try schema(
            """
            root Settings
            struct Settings { volume: Int(0...10) = 7; theme: Theme = light; tags: [String] = []; loud: Bool = false }
            enum Theme: String { light, dark }
            """)
        let provider = DefaultsProvider(try DefaultsStore.open(path: folder.file("a.plist"), options: options))
        let messages: [(AbsoluteConfigKey, ConfigType, String?)] = [
            ("volume", .int, "Expected 0...10 at volume, found 11"),
            ("theme", .string, "Expected light or dark at theme, found \"drak\"; did you mean dark?"),
            ("tags", .stringArray, "Expected String at tags[1], found Int"),
            ("loud", .bool, nil), ("other", .string, nil),
        ]
        let snapshot = provider.snapshot()
        for (key, type, message) in messages {
            #expect(words { try provider.value(forKey: key, type: type) } == message)
            #expect(words { try snapshot.value(forKey: key, type: type) } == message)
        }
    }

    @Test("a name without a published type opens a store without a schema")
    func opened() throws {
        var options = DefaultsStore.Options()
        options.engine = .memory
        let provider = try DefaultsProvider(opening: "org.example.untyped", options: options)
        #expect(provider.providerName == "DefaultsProvider[org.example.untyped]")
        #expect(try provider.value(forKey: "volume", type: .int).value == nil)
    }

    @Test("a closed store is an error at each lookup")
    func closed() async throws {
        let store = try memoryStore()
        let provider = DefaultsProvider(store)
        try store.close()
        #expect(words { try provider.value(forKey: "a", type: .int) } == "The store was closed")
        #expect(words { try provider.snapshot().value(forKey: "a", type: .int) } == "The store was closed")
        await #expect(throws: DefaultsError.self) { try await provider.fetchValue(forKey: "a", type: .int) }
        await #expect(throws: DefaultsError.self) {
            try await provider.watchValue(forKey: "a", type: .int) { _ in Issue.record("A closed store") }
        }
        await #expect(throws: DefaultsError.self) { try await provider.watchSnapshot { _ in Issue.record("closed") } }
    }

    @Test("a fetch takes up what another program wrote, a get has what was there")
    func fetched() async throws {
        let folder = try Folder()
        try folder.write("a.plist", ["volume": 1])
        let config = ConfigReader(provider: DefaultsProvider(try DefaultsStore.open(path: folder.file("a.plist"))))
        try folder.write("a.plist", ["volume": 22])
        #expect(config.int(forKey: "volume") == 1)
        #expect(try await config.fetchInt(forKey: "volume") == 22)
        #expect(config.int(forKey: "volume") == 22)
    }
}
