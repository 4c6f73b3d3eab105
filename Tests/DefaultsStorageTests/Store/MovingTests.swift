import DefaultsStorage
import Foundation
import PropertyLists
import Testing

@Suite struct MovingTests {
    private func open(_ engine: DefaultsStore.Options.Engine = .memory) throws -> DefaultsStore {
        try DefaultsStore.open(
            "scratch",
            options: options {
                $0.engine = engine
                $0.defaults = try? list(["volume": 7, "ui": ["width": 640, "tags": ["a", "b"]]])
            })
    }

    // proves: G49
    @Test("moves a value to a place where there is none, and nothing over another")
    func renames() throws {
        let store = try open()
        try store.set(list(["x": 1]), at: ["old"])
        #expect(try store.rename(["old"], to: ["new", "place"]))
        #expect(try store.dictionary(of: .application) == list(["new": ["place": ["x": 1]]]))
        #expect(try !store.rename(["old"], to: ["other"]))
        try store.set(list(2), at: ["old"])
        #expect(throws: DefaultsError(.conflict, expected: "nothing", found: "Int", at: ["new", "place", "x"])) {
            try store.rename(["old"], to: ["new", "place", "x"])
        }
        #expect(try store.rename(["old"], to: ["old", "deeper"]))
        #expect(try store.value(at: ["old", "deeper"]) == list(2))
        #expect(throws: DefaultsError(.pathMismatch, "Expected a path that begins with a key")) {
            try store.rename([], to: ["a"])
        }
    }

    @Test("a default is not moved, and not in the way")
    func defaults() throws {
        let store = try open()
        #expect(try !store.rename(["volume"], to: ["loudness"]))
        try store.set(list(1), at: ["loudness"])
        #expect(try store.rename(["loudness"], to: ["volume"]))
        #expect(try store.value(at: ["volume"]) == list(1))
    }

    @Test("a conflict leaves a transaction around it as it was")
    func transactions() throws {
        let store = try open()
        try store.transaction { transaction in
            try transaction.set(list(1), at: ["a"])
            try transaction.set(list(2), at: ["b"])
            #expect(throws: DefaultsError.self) { try transaction.rename(["a"], to: ["b"]) }
            #expect(try transaction.rename(["a"], to: ["c"]))
            try transaction.set(list(9), at: ["volume"])
            #expect(try transaction.reset(at: ["volume"]))
        }
        #expect(try store.dictionary(of: .application) == list(["b": 2, "c": 1]))
    }

    // proves: G49
    @Test("a reset takes a part of a value back, and leaves nothing where all is as below")
    func resets() throws {
        let store = try open()
        #expect(try !store.reset(at: ["volume"]))
        #expect(try !store.reset(at: ["ui", "width"]))
        try store.set(list(800), at: ["ui", "width"])
        try store.set(list("c"), at: ["ui", "tags", .index(1)])
        try store.set(list(true), at: ["ui", "more"])
        #expect(try store.reset(at: ["ui", "width"]))
        #expect(try store.value(at: ["ui"]) == list(["width": 640, "tags": ["a", "c"], "more": true]))
        #expect(try store.reset(at: ["ui", "more"]))
        _ = try store.remove(at: ["ui", "width"])
        #expect(try store.reset(at: ["ui", "width"]))
        #expect(try store.dictionary(of: .application) == list(["ui": ["tags": ["a", "c"]]]))
        #expect(try store.reset(at: ["ui", "tags", .index(1)]))
        #expect(try store.dictionary(of: .application) == list([String: Any]()))
        #expect(try store.value(at: ["ui", "tags"]) == list(["a", "b"]))
        try store.set(list(1), at: ["mine", "deep"])
        #expect(try store.reset(at: ["mine", "deep"]))
        #expect(try store.reset(at: ["mine"]))
        #expect(try store.dictionary(of: .application).count == 0)
    }

    @Test("a handle that only reads moves nothing, also where there is nothing to move")
    func readOnly() throws {
        let folder = try TemporaryFolder()
        try folder.write(["a": ["x": 1]])
        let store = try DefaultsStore.open(path: folder.file("a.plist"), options: options { $0.isReadOnly = true })
        for path in [["a", "x"], ["a", "y"], ["b", "x"]] as [PropertyListPath] {
            let expected = DefaultsError(
                .readOnly, "The store was opened read-only", at: path, file: folder.file("a.plist"))
            #expect(throws: expected) { try store.rename(path, to: ["c"]) }
            #expect(throws: expected) { try store.reset(at: path) }
        }
    }

    @Test("leaves out JSON's nulls where that is asked for")
    func nulls() throws {
        let store = try open()
        let text = Array(#"{"a": null, "b": [1, null, {"c": null}], "d": {"e": {}}}"#.utf8)
        #expect(
            throws: DefaultsError(
                .invalidValue, .wrong("A file cannot hold nil", advice: "remove the key instead"), at: ["a"])
        ) {
            try store.import(text)
        }
        try store.import(text, nulls: .dropped)
        #expect(
            try store.dictionary(of: .application) == list(["b": [1, [String: Any]()], "d": ["e": [String: Any]()]]))
        let deep = String(repeating: "[", count: 500) + "null" + String(repeating: "]", count: 500)
        let dropped = try PropertyList(parsing: Array(deep.utf8)).droppingNulls()
        #expect(dropped.depth == 500)
        #expect(try PropertyList(parsing: Array("null".utf8), as: .json).droppingNulls().kind == .null)
    }

    @Test("a file's name decides its format, unless one is given or it is there", arguments: ["json", "plist"])
    func formats(suffix: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a." + suffix)
        let store = try DefaultsStore.open(path: path)
        try store.set(list(["b": [Int](), "c": [1, ["d": true]]]), at: [])
        try store.close()
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let lines = """
            {
              "b": [],
              "c": [
                1,
                {
                  "d": true
                }
              ]
            }

            """
        #expect(suffix == "json" ? text == lines : text.hasPrefix("<?xml"))
        try PropertyListFile.write(list(["a": 1]), to: path)
        #expect(try PropertyListFile.read(path)?.format == (suffix == "json" ? .json : .xml))
        let other = try DefaultsStore.open(path: path, options: options { $0.format = .binary })
        try other.set(list(2), at: ["a"])
        try other.close()
        #expect(try PropertyListFile.read(path)?.format == (suffix == "json" ? .json : .xml))
        try PropertyListFile.write(list(["a": 1]), to: path, as: .binary)
        #expect(try PropertyListFile.read(path)?.format == .binary)
    }
}
