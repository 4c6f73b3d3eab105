import DefaultsStorage
import Foundation
import KVCodable
import PropertyLists
import Synchronization
import Testing

/// The changes that watches have told.
private final class Told: Sendable {
    let all = Mutex<[String]>([])
}

/// A store whose values are shown and set by the types of its schema.
@Suite struct SchemaTypesTests {
    static let text = """
        struct Settings {
            volume: Int(0...10) = 7
            scale: Double?
            window: Window?
            frame: Frame
            named: Named
            list: [Window] = []
            by_name: [String: Window]?
            shape: Shape?
            any: Any?
            sub: Part = ["a": 5]
        }
        struct Window { width: Int = 640; title: String? @key(window_title); name: String? = "none"; part: Part? }
        struct Frame { x: Double = 1; inner: Inner }
        struct Inner { y: Int = 2 }
        struct Named { name: String; size: Int = 3 }
        struct Part { a: Int = 1; b: Int? }
        enum Shape { circle(radius: Double, color: String = "red"), empty }
        """

    private func open(
        _ change: (inout DefaultsStore.Options) throws -> Void = { _ in }
    ) throws -> DefaultsStore {
        var options = DefaultsStore.Options()
        options.engine = .memory
        options.schema = try DefaultsSchema(TypeRegistry().declare(Self.text)[0])
        try change(&options)
        return try DefaultsStore.open("scratch", options: options)
    }

    private func expectMismatch(_ message: String, _ body: () throws -> Void) {
        let error = #expect(throws: DefaultsError.self) { try body() }
        #expect(error?.code == .typeMismatch)
        #expect(error?.description == message)
    }

    // proves: G55
    @Test("shows a value as the type of its place, by stored keys")
    func shows() throws {
        let store = try open()
        try store.setStored(
            list(["width": 2.0, "window_title": "x", "other": true] as [String: Any]), at: ["window"])
        #expect(try store.value(at: ["window"]) == list(["width": 2, "title": "x", "name": "none"] as [String: Any]))
        #expect(try store.value(forKey: "window") == store.value(at: ["window"]))
        #expect(try store.value(at: ["window", "width"])?.integer == 2)
        #expect(try store.value(at: ["window", "window_title"])?.string == "x")
        #expect(try store.value(at: ["window", "title"]) == nil)
        #expect(try store.value(at: ["window", "other"])?.boolean == true)
        // Any, and reading the stored value, show it as it is.
        let any = try TypeRegistry().type("Any")
        #expect(try store.value(at: ["window", "width"], as: any)?.real == 2)
        #expect(try store.stored(at: ["window", "width"])?.real == 2)
        #expect(try store.value(at: ["window"], as: any)?.keys == ["other", "width", "window_title"])
        // Other programs' keys have no type.
        try store.set(list(["b": 1.0]), at: ["unknown"])
        #expect(try store.value(at: ["unknown", "b"])?.real == 1)
    }

    @Test("has no key of an optional field that is nil, at any depth")
    func leavesOutNil() throws {
        let store = try open()
        try store.setStored(list(["b": "$null", "a": 2] as [String: Any]), at: ["sub"])
        #expect(try store.keys(at: ["sub"]) == ["a"])
        try store.setStored(list([["width": 1, "window_title": "$null"] as [String: Any]]), at: ["list"])
        #expect(try store.keys(at: ["list", 0]) == ["name", "width"])
    }

    @Test("sets a value as the type of its place says, and keeps what that does not know")
    func sets() throws {
        let store = try open()
        try store.set(list(3), at: ["scale"])
        #expect(try store.stored(at: ["scale"])?.real == 3)
        try store.setStored(list(["other": 1, "width": 1]), at: ["window"])
        try store.set(list(["title": "x", "width": 5] as [String: Any]), at: ["window"])
        let expected = try list(["other": 1, "width": 5, "window_title": "x"] as [String: Any])
        #expect(try store.dictionary(of: .application)["window"] == expected)
        // An empty table of Lua is an empty dictionary.
        try store.set(list([:] as [String: Any]), at: ["list"])
        #expect(try store.stored(at: ["list"])?.kind == .array)
        try store.set(list(["title": "first"]), at: ["list", 0])
        #expect(try store.stored(at: ["list", 0]) == list(["window_title": "first"]))
        try store.update(at: ["list", 0]) { window in try #require(window).setting(list(9), at: ["width"]) }
        #expect(try store.stored(at: ["list", 0]) == list(["window_title": "first", "width": 9] as [String: Any]))
        expectMismatch("Window at window has no field widht; did you mean width?") {
            try store.set(list(["widht": 1]), at: ["window"])
        }
        // The whole store is a dictionary of stored keys.
        try store.set(list(["scale": 1, "window": ["title": "y"], "more": 1] as [String: Any]), at: [])
        let whole = try list(["scale": 1.0, "window": ["window_title": "y"], "more": 1] as [String: Any])
        // Setting all of it removes the old window first.
        #expect(try store.dictionary(of: .application)["scale"] == whole["scale"])
        #expect(try store.dictionary(of: .application)["more"] == whole["more"])
        #expect(try store.value(at: ["window", "window_title"])?.string == "y")
        // One value that is wrong takes nothing away.
        let before = try store.dictionary(of: .application)
        expectMismatch("Expected 0...10 at volume, found 11") {
            try store.set(list(["more": 2, "volume": 11]), at: [])
        }
        #expect(try store.dictionary(of: .application) == before)
    }

    // proves: G55
    @Test("has the schema's defaults as the lowest layer")
    func defaults() throws {
        let store = try open { $0.defaults = try list(["scale": 2.0, "list": [["width": 1]]]) }
        #expect(try store.value(forKey: "volume")?.integer == 7)
        #expect(try store.value(forKey: "scale")?.real == 2)
        #expect(try store.value(at: ["list"]) == list([["width": 1, "name": "none"] as [String: Any]]))
        #expect(try store.value(at: ["list", 0, "name"])?.string == "none")
        #expect(try store.dictionary(of: .registered).keys == ["list", "scale"])
        #expect(try store.dictionary(of: .schema).keys == ["frame", "list", "sub", "volume"])
        #expect(try store.origin(at: ["volume"])?.layer == .schema)
        #expect(try store.origin(at: ["frame", "inner", "y"])?.layer == .schema)
        #expect(try store.origin(at: ["scale"])?.layer == .registered)
        #expect(try store.origin(at: ["list", 0, "width"])?.layer == .registered)
        #expect(try store.origin(at: ["list", 0, "name"])?.layer == .schema)
        #expect(try store.origin(at: ["window", "width"]) == nil)
        let another = try store.anotherHandle()
        #expect(try another.origin(at: ["volume"])?.layer == .schema)
        #expect(try store.keys() == ["frame", "list", "scale", "sub", "volume"])
        try store.register(list(["volume": 9]))
        #expect(try store.value(forKey: "volume")?.integer == 9)
        #expect(try store.anotherHandle().value(forKey: "volume")?.integer == 9)
        // Getters of UserDefaults read them, too.
        #expect(try store.integer(forKey: "volume") == 9)
    }

    @Test("has the defaults of a struct's fields where the struct needs no value, or is there")
    func defaultsOfFields() throws {
        let store = try open()
        // A struct that needs no value, through another one; none for one that does.
        #expect(try store.value(at: ["frame"]) == list(["x": 1.0, "inner": ["y": 2]] as [String: Any]))
        #expect(try store.value(at: ["frame", "inner", "y"])?.integer == 2)
        #expect(try store.value(at: ["named"]) == nil)
        #expect(try store.value(at: ["named", "size"]) == nil)
        #expect(try store.value(at: ["sub"]) == list(["a": 5]))
        #expect(try store.value(at: ["sub", "a"])?.integer == 5)
        // Below an absent optional all is absent; in one that is there, its fields have theirs.
        #expect(try store.value(at: ["window", "width"]) == nil)
        #expect(try store.keys(at: ["window"]) == nil)
        try store.set(list([:] as [String: Any]), at: ["window"])
        #expect(try store.value(at: ["window", "width"])?.integer == 640)
        #expect(try store.origin(at: ["window", "width"])?.layer == .schema)
        #expect(try store.origin(at: ["window"])?.layer == .application)
        #expect(try store.value(at: ["window", "part", "a"]) == nil)
        #expect(try store.keys(at: ["window"]) == ["name", "width"])
        #expect(try store.keys(at: ["window", "width"]) == [])
        #expect(try store.stored(at: ["window"]) == list([:] as [String: Any]))
        #expect(try store.filled(at: ["window"]) == list(["name": "none", "width": 640] as [String: Any]))
        try store.set(list(["circle": ["radius": 2]]), at: ["shape"])
        #expect(try store.value(at: ["shape", "circle", "color"])?.string == "red")
        #expect(try store.value(at: ["by_name", "a", "width"]) == nil)
        try store.set(list([:] as [String: Any]), at: ["by_name", "a"])
        #expect(try store.value(at: ["by_name", "a", "width"])?.integer == 640)
        // Codable types read them, too.
        struct Frame: Decodable, Equatable {
            var x: Double
            var inner: [String: Int]
        }
        #expect(try store.decode(Frame.self, forKey: "frame") == Frame(x: 1, inner: ["y": 2]))
    }

    @Test("writes no default but what a set is inside of")
    func setsInsideOfDefaults() throws {
        let store = try open()
        // What is set inside of a default has that default around it.
        let parts = try TypeRegistry().declare(
            "struct S { p: P } struct P { list: [Int] = [1]; q: Q = [\"a\": 5] } "
                + "struct Q { a: Int = 1; b: Int? }")
        let other = try open { $0.schema = try DefaultsSchema(parts[0]) }
        try other.set(list(2), at: ["p", "list", 1])
        try other.set(list(3), at: ["p", "q", "b"])
        #expect(try other.dictionary(of: .application)["p"] == list(["list": [1, 2], "q": ["b": 3]]))
        #expect(try other.value(at: ["p", "q"]) == list(["a": 5, "b": 3]))
        #expect(try other.value(at: ["p", "q", "a"])?.integer == 5)
        #expect(try other.value(at: ["p"]) == list(["list": [1, 2], "q": ["a": 5, "b": 3]]))
        // A set through a default writes its value, and no default.
        try store.set(list(4), at: ["frame", "inner", "y"])
        #expect(try store.dictionary(of: .application)["frame"] == list(["inner": ["y": 4]]))
        #expect(try store.remove(at: ["frame"]))
        #expect(try store.value(at: ["frame", "inner", "y"])?.integer == 2)
    }

    @Test("a value that is not of its type is the error of a typed get")
    func wrong() throws {
        let store = try open { $0.arguments = try list(["volume": "x", "scale": 1]) }
        let typed = #expect(throws: TypeError.self) {
            try store.value(at: ["volume"], as: TypeRegistry().type("Int"))
        }
        expectMismatch(typed?.description ?? "") { _ = try store.value(forKey: "volume") }
        expectMismatch("Expected BinaryInteger at volume, found String") { _ = try store.value(at: []) }
        expectMismatch("Expected BinaryInteger at volume, found String") { try store.update(at: ["volume"]) { $0 } }
        // Keys, and everything as it is stored, can be had.
        #expect(try store.keys().contains("volume"))
        #expect(try store.snapshot()["volume"]?.string == "x")
        #expect(try store.value(forKey: "scale")?.real == 1)
    }

    @Test("shows the whole store as a dictionary of stored keys")
    func whole() throws {
        let store = try open()
        try store.set(list(["title": "x"]), at: ["window"])
        try store.set(list(1), at: ["scale"])
        let all = try #require(try store.value(at: []))
        #expect(all["window"] == (try list(["title": "x", "width": 640, "name": "none"] as [String: Any])))
        #expect(all["scale"]?.real == 1)
        #expect(all["volume"]?.integer == 7)
        #expect(try store.snapshot()["window"]?.keys == ["name", "width", "window_title"])
    }

    @Test("watches tell values as the types show them, at paths of stored keys")
    func watches() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kvtypes-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = DefaultsStore.Options()
        options.schema = try DefaultsSchema(TypeRegistry().declare(Self.text)[0])
        let store = try DefaultsStore.open(path: folder + "/a.plist", options: options)
        let free = try DefaultsStore.open(path: folder + "/a.plist")
        let told = Told()
        func watch(_ name: String, _ scope: DefaultsScope) throws {
            _ = try store.watch(scope) { change in
                let old = change.old.map { "\($0)" } ?? "none"
                let new = change.new.map { "\($0)" } ?? "none"
                told.all.withLock { $0.append("\(name) \(change.path): \(old) -> \(new)") }
            }
        }
        func taken() -> [String] {
            told.all.withLock { all in
                defer { all = [] }
                return all.sorted()
            }
        }
        try watch("value", .value(["window"]))
        try watch("below", .subtree(["window"]))
        try watch("scale", .value(["scale"]))
        try store.set(list(["title": "x"]), at: ["window"])
        _ = try store.pump()
        let shown = try list(["title": "x", "width": 640, "name": "none"] as [String: Any])
        #expect(taken() == ["below window: none -> \(shown)", "value window: none -> \(shown)"])
        try store.set(list("y"), at: ["window", "window_title"])
        _ = try store.pump()
        #expect(taken().first == "below window.window_title: \"x\" -> \"y\"")
        // No value changes where the type sees none.
        try store.setStored(list(["window_title": "y", "width": 640.0, "more": 1] as [String: Any]), at: ["window"])
        _ = try store.pump()
        #expect(taken() == ["below window.more: none -> 1"])
        // A removed value has its default.
        try store.set(list(5), at: ["window", "width"])
        _ = try store.pump()
        _ = taken()
        #expect(try store.remove(at: ["window", "width"]))
        _ = try store.pump()
        #expect(taken().first == "below window.width: 5 -> 640")
        // A wrong value is an error, once, and the others are told.
        try watch("volume", .value(["volume"]))
        try free.set(list("loud"), forKey: "volume")
        try store.set(list(1), at: ["scale"])
        expectMismatch("Expected BinaryInteger at volume, found String") { _ = try store.pump() }
        #expect(taken() == ["scale scale: none -> 1.0"])
        #expect(try store.pump() == 0)
        try free.set(list(3), forKey: "volume")
        _ = try store.pump()
        #expect(taken() == ["volume volume: none -> 3"])
    }

    @Test("a watch of the whole store tells values with the defaults in them, as they are stored")
    func watchesOfEverything() throws {
        let store = try open()
        let told = Told()
        let watch = try store.watchStored(.everything) { change in
            told.all.withLock { $0 = [change.old, change.new].map { $0?["width"].map { "\($0)" } ?? "none" } }
        }
        for (width, expected) in [(nil, ["none", "640"]), (5, ["640", "5"])] {
            try store.set(width.map { try list(["width": $0]) } ?? list([:] as [String: Any]), at: ["window"])
            #expect(try store.pump() == 1)
            #expect(told.all.withLock { $0 } == expected)
        }
        #expect(try store.reset(at: ["window", "width"]))
        #expect(try store.pump() == 1)
        #expect(told.all.withLock { $0 } == ["5", "640"])
        // More keys than are remembered: all are looked at.
        for number in 0..<70_000 { try store.setStored(list(number), at: [.key("other-\(number)")]) }
        try store.set(list(6), at: ["window", "width"])
        #expect(try store.pump() == 70_001)
        #expect(told.all.withLock { $0 } == ["640", "6"])
        watch.cancel()
    }

    @Test("a reset of a part gives it the schema's default, and leaves nothing where that is all")
    func resets() throws {
        let store = try open { $0.defaults = try list(["sub": ["a": 4, "b": 2]]) }
        func stored() throws -> PropertyList { try store.dictionary(of: .application) }
        try store.set(list(["x": 5.0, "inner": ["y": 6]] as [String: Any]), at: ["frame"])
        #expect(try store.reset(at: ["frame", "inner", "y"]))
        #expect(try store.value(at: ["frame", "inner", "y"])?.integer == 2)
        #expect(try stored()["frame"]?["x"]?.real == 5)
        #expect(try store.reset(at: ["frame", "x"]))
        #expect(try store.value(at: ["frame", "x"])?.real == 1)
        #expect(try stored().count == 0)
        #expect(try !store.reset(at: ["frame", "x"]))
        // Below an optional struct, which stays, and which nothing lies under.
        try store.set(list(["width": 5, "title": "x"] as [String: Any]), at: ["window"])
        #expect(try store.reset(at: ["window", "width"]))
        #expect(try store.value(at: ["window", "width"])?.integer == 640)
        #expect(try stored()["window"] == list(["window_title": "x"]))
        // Over a registered default, which goes before the field's own.
        try store.set(list(9), at: ["sub", "a"])
        #expect(try store.reset(at: ["sub", "a"]))
        #expect(try store.value(at: ["sub"]) == list(["a": 4, "b": 2]))
        #expect(try stored()["sub"] == nil)
        // In a transaction.
        try store.set(list(3), forKey: "volume")
        #expect(try store.transaction { transaction in try transaction.reset(at: ["volume"]) })
        #expect(try store.value(forKey: "volume")?.integer == 7)
    }

    @Test("a migration sees what is stored")
    func migrations() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kvtypes-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try DefaultsStore.open(path: folder + "/a.plist").set(list("3"), forKey: "volume")
        var options = DefaultsStore.Options()
        options.schema = try DefaultsSchema(TypeRegistry().declare(Self.text)[0])
        options.migrations = [
            DefaultsMigration(to: 1) { transaction in
                let old = try transaction.value(at: ["volume"])?.string ?? ""
                try transaction.set(PropertyList(any: "on the way"), at: ["volume"])
                try transaction.set(PropertyList(any: Int(old) ?? 0), at: ["volume"])
            }
        ]
        let store = try DefaultsStore.open(path: folder + "/a.plist", options: options)
        #expect(try store.value(forKey: "volume")?.integer == 3)
        #expect(try store.value(forKey: "KVStoreVersion")?.integer == 1)
    }

    @Test("gives the type of a place by stored keys")
    func types() throws {
        let type = try TypeRegistry().declare(Self.text)[0]
        let at = { (path: PropertyListPath) in type.type(at: path)?.description }
        #expect(at([]) == "Settings")
        #expect(at(["volume"]) == "Int(0...10)")
        #expect(type.type(at: ["volume"])?.defaultValue?.integer == 7)
        #expect(at(["window"]) == "Window?")
        #expect(at(["window", "window_title"]) == "String?")
        #expect(at(["window", "title"]) == nil)
        #expect(at(["list", 4]) == "Window")
        #expect(at(["list", 4, "part", "b"]) == "Int?")
        #expect(at(["list", "x"]) == nil)
        #expect(at(["by_name", "x", "width"]) == "Int")
        #expect(at(["by_name", 1]) == nil)
        #expect(at(["shape", "circle", "radius"]) == "Double")
        #expect(at(["any", "x"]) == nil)
        #expect(at(["volume", "x"]) == nil)
        let store = try open()
        #expect(store.type(at: ["list", 0, "width"])?.description == "Int")
        #expect(store.type(at: ["KVStoreVersion"]) == nil)
        #expect(try DefaultsStore.open("a", options: memory()).type(at: ["volume"]) == nil)
    }

    private func memory() -> DefaultsStore.Options {
        var options = DefaultsStore.Options()
        options.engine = .memory
        return options
    }

    @Test("a struct inside itself, and one that is larger than any store, have finite defaults")
    func bounds() throws {
        let registry = TypeRegistry()
        let tree = try registry.declare("struct Tree { v: Int = 1; left: Tree?; right: [Tree] = [] }")[0]
        var options = memory()
        options.schema = try DefaultsSchema(registry.declare("struct Root { tree: Tree }")[0])
        let store = try DefaultsStore.open("a", options: options)
        #expect(tree.type(at: ["left", "left"]) == store.type(at: ["tree", "left", "left"]))
        #expect(try store.value(at: ["tree", "v"])?.integer == 1)
        try store.set(list([[String: Int]](repeating: [:], count: 2)), at: ["tree", "right"])
        #expect(try store.value(at: ["tree", "right", 1, "v"])?.integer == 1)
        // Each level holds the next one twice.
        let levels = (0..<40).map { "struct L\($0) { a: L\($0 + 1); b: L\($0 + 1) }\n" }.joined()
        let large = TypeRegistry()
        try large.declare(levels + "struct L40 { x: Int = 1 }")
        options.schema = try DefaultsSchema(large.declare("struct Root { level: L0 }")[0])
        #expect(throws: DefaultsError.self) { _ = try DefaultsStore.open("a", options: options) }
    }

    @Test("a registered Swift type has no defaults to be seen")
    func swiftTypes() throws {
        struct User: Codable {
            var name = "Ada"
        }
        let registry = TypeRegistry()
        try registry.register(User.self, as: "User")
        var options = memory()
        options.schema = try DefaultsSchema(registry.declare("struct S { user: User; n: Int = 1 }")[0])
        let store = try DefaultsStore.open("a", options: options)
        #expect(try store.keys() == ["n"])
        #expect(try store.value(at: ["user"]) == nil)
        try store.set(list(["name": "Bo"]), at: ["user"])
        #expect(try store.value(at: ["user", "name"])?.string == "Bo")
    }

    // proves: G59
    @Test("declares the types of a file, which errors name")
    func files() throws {
        let file = FileManager.default.temporaryDirectory.path + "/kvtypes-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: file) }
        let registry = TypeRegistry()
        try Data(Self.text.utf8).write(to: URL(fileURLWithPath: file))
        let types = try registry.declare(file: file)
        #expect(types.map(\.description) == ["Settings", "Window", "Frame", "Inner", "Named", "Part", "Shape"])
        try Data("struct A { x: Int }\nstruct B { y: Nix }".utf8).write(to: URL(fileURLWithPath: file))
        let error = #expect(throws: TypeError.self) { try registry.declare(file: file) }
        #expect(error?.file == file)
        #expect(error?.description == "No type is named Nix (line 2, column 15) (\(file))")
        #expect(throws: TypeError.self) { try registry.type("A") }
        let missing = #expect(throws: DefaultsError.self) { try registry.declare(file: file + ".none") }
        #expect(missing?.errno == ENOENT)
    }

    @Test("many threads read and set parts by one schema", .timeLimit(.minutes(1)))
    func threads() async throws {
        let store = try open()
        try store.set(list([:] as [String: Any]), at: ["window"])
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<200 {
                        try? store.set(PropertyList(any: number + round), at: ["window", "width"])
                        #expect((try? store.value(at: ["window", "name"])?.string) == "none")
                    }
                }
            }
        }
        #expect(try store.value(at: ["window", "width"])?.integer != nil)
    }
}
