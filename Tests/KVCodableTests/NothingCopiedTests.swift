import CodableTypes
import Foundation
import KVCodable
import PropertyLists
import TestSupport
import Testing

/// What a store's file holds after each call that changes something, over a suite, the global domain and registered
/// defaults: what was set, and nothing of these layers. An array of theirs of which an element changes is copied.
@Suite struct NothingCopiedTests {
    struct Frame: Codable, Equatable, Sendable {
        var x: Int?
        var y: Int?
    }

    struct Window: Codable, Equatable, Sendable {
        var width: Int?
        var title: String?
        var frame: Frame?
    }

    /// One call, or several, and the file that they leave.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let file: PropertyList
        let change: @Sendable (DefaultsStore) throws -> Void

        init(_ name: String, _ file: PropertyList, _ change: @escaping @Sendable (DefaultsStore) throws -> Void) {
            (testDescription, self.file, self.change) = (name, file, change)
        }
    }

    private static let suite: PropertyList = [
        "window": ["title": "Suite", "frame": ["y": 2]], "list": [1, 2, 3], "theme": "light",
    ]
    private static let global: PropertyList = ["window": ["width": 640], "count": 1]
    private static let registered: PropertyList = ["window": ["frame": ["x": 1]], "records": [["id": 1], ["id": 2]]]

    private static let width: PropertyListPath = ["window", "width"]
    private static let isWide: PropertyList = ["window": ["width": 800]]

    private static let trees: [Row] = [
        Row("set of a path", isWide) { try $0.set(800, at: width) },
        Row("setStored of a path", isWide) { try $0.setStored(800, at: width) },
        Row("replace of a path", isWide) { try $0.replace(800, at: width) },
        Row("set of a generation", isWide) { try $0.set(800, at: width, ifGeneration: $0.generation) },
        Row("set of a whole", ["window": ["width": 800], "KVUnset": [["window", "frame"], ["window", "title"]]]) {
            try $0.set(["width": 800], forKey: "window")
        },
        Row("replace of a whole", ["window": ["frame": ["x": 5]], "KVUnset": [["window", "frame", "y"]]]) {
            try $0.replace(["x": 5], at: ["window", "frame"])
        },
        Row("set of everything", ["count": 2, "KVUnset": [["list"], ["records"], ["theme"], ["window"]]]) {
            try $0.set(["count": 2], at: [])
        },
        Row("set of a new key", ["window": ["frame": ["z": 3]]]) { try $0.set(3, at: ["window", "frame", "z"]) },
        Row("update", ["window": ["frame": ["x": 5]], "KVUnset": [["window", "title"]]]) {
            try $0.update(at: ["window"]) { try $0?.setting(5, at: ["frame", "x"]).removing(at: ["title"]) }
        },
        Row("update that changes nothing", [:]) { try $0.update(at: ["window"]) { $0 } },
        Row("remove of a key", [:]) { try $0.remove(at: ["theme"]) },
        Row("remove below a key", ["KVUnset": [["window", "title"]]]) { try $0.remove(at: ["window", "title"]) },
        Row("remove of everything", [:]) { try $0.remove(at: []) },
        Row("reset of a lower value", [:]) { try $0.reset(at: width) },
        Row("reset of a set and a removed one", [:]) {
            try $0.set(800, at: width)
            try $0.remove(at: ["window", "title"])
            try $0.reset(at: ["window", "title"])
            try $0.reset(at: width)
        },
        Row("merge below a key", isWide) {
            try $0.merge(ancestor: ["width": 640], ours: ["width": 800], at: ["window"])
        },
        Row("merge of everything", ["count": 2]) { try $0.merge(ancestor: ["count": 1], ours: ["count": 2]) },
        Row("import", isWide) { try $0.import(Array(#"{"window": {"width": 800}}"#.utf8)) },
        Row("rename of a lower value", [:]) { try $0.rename(["theme"], to: ["look"]) },
        Row("rename of a part", ["wide": 800]) {
            try $0.set(800, at: width)
            try $0.rename(width, to: ["wide"])
        },
        Row("rename into a lower dictionary", ["window": ["height": 5]]) {
            try $0.set(5, at: ["tall"])
            try $0.rename(["tall"], to: ["window", "height"])
        },
        Row("register", [:]) { try $0.register(["window": ["height": 480]]) },
        Row("set of an element", ["list": [1, 9, 3]]) { try $0.set(9, at: ["list", 1]) },
        Row("set of a new element", ["list": [1, 2, 3, 4]]) { try $0.set(4, at: ["list", 3]) },
        Row("remove of an element", ["list": [2, 3]]) { try $0.remove(at: ["list", 0]) },
        Row("set inside of an element", ["records": [["id": 1], ["id": 2, "name": "b"]]]) {
            try $0.set("b", at: ["records", 1, "name"])
        },
    ]

    private static let transactions: [Row] = [
        Row("a transaction's set", isWide) { try $0.transaction { try $0.set(800, at: width) } },
        Row("a transaction's setStored", isWide) { try $0.transaction { try $0.setStored(800, at: width) } },
        Row("a transaction's merge", isWide) {
            try $0.transaction { _ = try $0.merge(ancestor: ["width": 640], ours: ["width": 800], at: ["window"]) }
        },
        Row("a transaction's remove, reset and rename", ["KVUnset": [["window", "title"]], "look": 1]) {
            try $0.set(1, at: ["old"])
            try $0.transaction {
                try $0.remove(at: ["window", "title"])
                try $0.reset(at: width)
                try $0.rename(["old"], to: ["look"])
            }
        },
        Row("a transaction's encode", isWide) {
            try $0.transaction {
                _ = try $0.encode(Window(width: 800, title: "Suite", frame: Frame(x: 1, y: 2)), forKey: "window")
            }
        },
        Row("a transaction that is rolled back", [:]) {
            let transaction = try $0.beginTransaction()
            try transaction.set(800, at: width)
            transaction.rollback()
        },
        Row("a migration", ["window": ["width": 800], "KVStoreVersion": 1]) {
            try $0.transaction {
                if try $0.beginMigration(to: 1) == 0 { try $0.set(800, at: width) }
            }
        },
    ]

    private static let values: [Row] = [
        Row("encode of a read value", isWide) {
            var window = try $0.decode(Window.self, forKey: "window")
            window?.width = 800
            try $0.encode(window, forKey: "window")
        },
        Row("encode of an unchanged value", [:]) {
            try $0.encode($0.decode(Window.self, forKey: "window"), forKey: "window")
        },
        Row("encode below a key", ["window": ["frame": ["x": 5]]]) {
            try $0.encode(Frame(x: 5, y: 2), at: ["window", "frame"])
        },
        Row("encode that leaves something out", ["KVUnset": [["window", "title"]]]) {
            try $0.encode(Window(width: 640, frame: Frame(x: 1, y: 2)), forKey: "window")
        },
        Row("set of a Codable value", ["count": 2]) { try $0.set(2 as Int, forKey: "count") },
        Row("update of a Codable value", ["window": ["frame": ["x": 5]]]) {
            try $0.update(Window.self, forKey: "window") { $0?.frame?.x = 5 }
        },
        Row("update of a Codable value at a path", ["window": ["frame": ["x": 5]]]) {
            try $0.update(Frame.self, at: ["window", "frame"]) { $0?.x = 5 }
        },
        Row("a member of a view", isWide) { view($0).width = 800 },
        Row("a view's value", isWide) {
            var window = view($0).value
            window.width = 800
            view($0).value = window
        },
        Row("a view's update", ["window": ["frame": ["y": 5]]]) { try view($0).update { $0.frame?.y = 5 } },
        Row("a view's reset", [:]) {
            view($0).width = 800
            try view($0).reset()
        },
        Row("a preference", isWide) {
            let preference = Preference<Window?>("window", in: $0)
            var window = preference.wrappedValue
            window?.width = 800
            preference.wrappedValue = window
        },
        Row("a preference of a part", isWide) {
            Preference(\.width, of: Window(), "window", in: $0).wrappedValue = 800
        },
        Row("a preference's reset", [:]) { try Preference<Window?>("window", in: $0).reset() },
    ]

    private static func view(_ store: DefaultsStore) -> TypedView<Window> {
        store.typed(Window.self, forKey: "window", defaults: Window(width: 1, title: "Mine"))
    }

    private static func windowType() throws -> CodableType {
        let types = TypeRegistry()
        try types.declare(
            "struct Frame { x: Int?; y: Int? } struct Window { width: Int = 1; title: String?; frame: Frame? }")
        return try types.type("Window")
    }

    private static let typed: [Row] = [
        Row("a typed set", ["window": ["width": 800]]) {
            try $0.set(["width": 800], at: ["window"], as: windowType())
        },
        Row("a typed set of what was read", isWide) {
            let type = try windowType()
            let window = try $0.value(at: ["window"], as: type)
            try $0.set(
                #require(try window?.setting(800, at: ["width"])), at: ["window"], as: type,
                options: .init(ancestor: window))
        },
        Row("a typed replace", ["window": ["width": 800], "KVUnset": [["window", "frame"], ["window", "title"]]]) {
            try $0.set(["width": 800], at: ["window"], as: windowType(), options: .init(replaces: true))
        },
        Row("a typed update", ["window": ["frame": ["x": 5]]]) {
            try $0.update(at: ["window"], as: windowType()) { try $0?.setting(5, at: ["frame", "x"]) }
        },
        Row("a transaction's typed set", isWide) {
            try $0.transaction { _ = try $0.set(["width": 800], at: ["window"], as: windowType()) }
        },
    ]

    // proves: G46
    @Test("the file has what was set, and nothing of a lower layer", arguments: trees + transactions + values + typed)
    func file(_ row: Row) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "layers-" + UUID().uuidString)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        func path(_ name: String) -> String { folder.appending(path: name + ".plist").path }
        try PropertyListFile.write(Self.suite, to: path("suite"), as: .xml)
        try PropertyListFile.write(Self.global, to: path(".GlobalPreferences"), as: .xml)
        var options = DefaultsStore.Options()
        options.durability = .manual
        options.suites = ["suite"]
        options.defaults = Self.registered
        let store = try withEnvironment(["XDG_CONFIG_HOME": folder.path]) {
            try DefaultsStore.open("settings", options: options)
        }
        try row.change(store)
        try store.close()
        let file = try PropertyListFile.read(path("settings"))?.list ?? [:]
        #expect(sorted(file) == sorted(row.file))
    }

    /// The tree as text. The order of the unset paths does not count.
    private func sorted(_ file: PropertyList) -> String {
        let unset = file["KVUnset"]?.elements.map(notation).sorted() ?? []
        return "\(file.entries.filter { $0.key != "KVUnset" }.map { "\($0.key): \(notation($0.value))" }) \(unset)"
    }
}
