import CodableTypes
import PropertyLists
import Testing

@Suite struct EncodingTests {
    struct Row: CustomTestStringConvertible, @unchecked Sendable {
        let name: String
        let type: String
        let value: Any
        let stored: Any?
        let result: Any
        var dropped = 0
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(
            name: "renames fields to keys", type: "Window", value: ["width": 5, "title": "T"], stored: nil,
            result: ["width": 5, "window_title": "T"]),
        Row(
            name: "writes defaults that are given", type: "Window",
            value: ["width": 5, "theme": "dark", "tags": [String]()] as [String: Any], stored: nil,
            result: ["width": 5, "theme": "dark", "tags": [String]()] as [String: Any]),
        Row(
            name: "writes a default where the key was", type: "Window",
            value: ["width": 5, "theme": "dark"] as [String: Any], stored: ["width": 1, "theme": "light"],
            result: ["width": 5, "theme": "dark"]),
        Row(
            name: "writes a default whose key was not stored, behind one that was", type: "Window",
            value: ["width": 5, "theme": "dark", "tags": ["b"]] as [String: Any], stored: ["tags": ["a"]],
            result: ["width": 5, "theme": "dark", "tags": ["b"]] as [String: Any]),
        Row(
            name: "resets a field that is left out", type: "Window", value: ["width": 5],
            stored: ["width": 1, "theme": "light"], result: ["width": 5]),
        Row(
            name: "keeps unknown keys, and removes known ones", type: "Window", value: ["width": 5],
            stored: ["width": 1, "window_title": "T", "future": [1]] as [String: Any],
            result: ["width": 5, "future": [1]] as [String: Any]),
        Row(
            name: "never stores a transient field", type: "Window",
            value: ["width": 5, "scratch": [1, 2]] as [String: Any], stored: ["width": 1, "scratch": 3],
            result: ["width": 5, "scratch": 3]),
        Row(
            name: "normalises numbers", type: "Point", value: ["x": 1, "y": 2.5], stored: nil,
            result: ["x": 1.0, "y": 2.5]),
        Row(
            name: "takes an empty dictionary for an empty array", type: "[Int]", value: [String: Int](), stored: nil,
            result: [Int]()),
        Row(
            name: "writes nil in an array as $null", type: "[Int?]", value: [1, nil] as [Int?], stored: nil,
            result: [1, "$null"] as [Any]),
        Row(
            name: "keeps unknown keys of a struct in a struct", type: "Shape",
            value: ["name": "n", "points": [[String: Any]](), "label": ["x": 1.0, "y": 1.0]] as [String: Any],
            stored: ["name": "m", "points": [[String: Any]](), "label": ["x": 0.0, "y": 0.0, "z": 9.0]]
                as [String: Any],
            result: ["name": "n", "points": [[String: Any]](), "label": ["x": 1.0, "y": 1.0, "z": 9.0]] as [String: Any]
        ),
        Row(
            name: "keeps unknown keys of an element that was changed in place", type: "[Point]",
            value: [["x": 1.0, "y": 1.0], ["x": 2.0, "y": 9.0]],
            stored: [["x": 1.0, "y": 1.0, "a": 1.0], ["x": 2.0, "y": 2.0, "b": 2.0]],
            result: [["x": 1.0, "y": 1.0, "a": 1.0], ["x": 2.0, "y": 9.0, "b": 2.0]]),
        Row(
            name: "unknown keys move with their element", type: "[Point]",
            value: [["x": 2.0, "y": 2.0], ["x": 1.0, "y": 1.0]],
            stored: [["x": 1.0, "y": 1.0, "a": 1.0], ["x": 2.0, "y": 2.0, "b": 2.0]],
            result: [["x": 2.0, "y": 2.0, "b": 2.0], ["x": 1.0, "y": 1.0, "a": 1.0]]),
        Row(
            name: "a removed element in front leaves the others theirs", type: "[Point]",
            value: [["x": 2.0, "y": 2.0]],
            stored: [["x": 1.0, "y": 1.0, "a": 1.0], ["x": 2.0, "y": 2.0, "b": 2.0]],
            result: [["x": 2.0, "y": 2.0, "b": 2.0]], dropped: 1),
        Row(
            name: "an appended element and a changed one", type: "[Point]",
            value: [["x": 1.0, "y": 1.0], ["x": 3.0, "y": 3.0], ["x": 2.0, "y": 2.0], ["x": 4.0, "y": 4.0]],
            stored: [
                ["x": 1.0, "y": 1.0, "a": 1.0], ["x": 0.0, "y": 0.0, "c": 3.0], ["x": 2.0, "y": 2.0, "b": 2.0],
            ],
            result: [
                ["x": 1.0, "y": 1.0, "a": 1.0], ["x": 3.0, "y": 3.0, "c": 3.0], ["x": 2.0, "y": 2.0, "b": 2.0],
                ["x": 4.0, "y": 4.0],
            ]),
        Row(
            name: "a dictionary is data: keys not given go, values that stay keep theirs", type: "[String: Point]",
            value: ["p": ["x": 1.0, "y": 5.0]],
            stored: ["p": ["x": 1.0, "y": 1.0, "a": 1.0], "q": ["x": 1.0, "y": 1.0]],
            result: ["p": ["x": 1.0, "y": 5.0, "a": 1.0]]),
        Row(
            name: "a stored value of another kind is replaced", type: "Point", value: ["x": 1.0, "y": 1.0], stored: 5,
            result: ["x": 1.0, "y": 1.0]),
        Row(
            name: "merges through a recursive type", type: "Node",
            value: ["value": 1, "children": [["value": 3]]] as [String: Any],
            stored: ["value": 1, "children": [["value": 2, "note": "n"] as [String: Any]]] as [String: Any],
            result: ["value": 1, "children": [["value": 3, "note": "n"] as [String: Any]]] as [String: Any]),
    ]

    // proves: G57
    @Test("encodes over what is stored", arguments: rows)
    func encodes(_ row: Row) throws {
        let type = try sampleRegistry().type(row.type)
        let encoded = try type.encode(try tree(row.value), over: try row.stored.map { try tree($0) })
        #expect(encoded.list == (try tree(row.result)))
        #expect(encoded.droppedElements == row.dropped)
        // Decoding finds the value that encoding notes for it.
        #expect(try type.decode(encoded.list) == type.decode(try tree(row.result)))
    }

    @Test("stores what differs from the value that the program had")
    func ancestor() throws {
        let type = try sampleRegistry().type("Window")
        let had = try tree(["width": 5, "theme": "dark", "tags": ["a"]] as [String: Any])
        let given = try tree(["width": 6, "theme": "dark", "tags": ["a", "b"]] as [String: Any])
        let stored = try tree(["width": 5, "tags": ["x", "a"], "window_title": "T", "future": 1] as [String: Any])
        let encoded = try type.encode(given, over: stored, options: CodableType.EncodeOptions(ancestor: had))
        #expect(
            encoded.list
                == (try tree(
                    ["width": 6, "tags": ["x", "a", "b"], "window_title": "T", "future": 1] as [String: Any])))
    }

    @Test("replacing turns the merge off")
    func replaces() throws {
        let type = try sampleRegistry().type("Window")
        let encoded = try type.encode(
            try tree(["width": 5]), over: try tree(["width": 1, "future": 2, "theme": "light"] as [String: Any]),
            options: .init(replaces: true))
        #expect(encoded.list == (try tree(["width": 5])))
    }

    static var rejected: [(String, Any, TypeError.Code, PropertyListPath, String)] {
        [
            ("Window", ["widht": 1, "width": 1], .unknownField, [], "Window has no field widht; did you mean width?"),
            ("[Window]", [["width": 1, "qqqqq": 1]], .unknownField, [0], "Window at [0] has no field qqqqq"),
            ("Window", ["width": 1, "window_title": "T"], .unknownField, [], "Window has no field window_title"),
            ("Window", ["title": "T"], .missingField, [], "Dictionary does not contain key width"),
            ("Window", ["width": 1, "title": 5], .mismatch, ["title"], "Expected String at title, found Int"),
            (
                "Window", ["width": 1, "tags": ["a": 1]] as [String: Any], .mismatch, ["tags"],
                "Expected Array<Any> at tags, found Dictionary<String, Any>"
            ),
        ]
    }

    @Test("rejects what is not of the type", arguments: rejected.indices)
    func rejects(_ index: Int) throws {
        let (type, value, code, path, message) = Self.rejected[index]
        let registry = try sampleRegistry()
        let error = try typeError { _ = try registry.type(type).encode(try tree(value)) }
        #expect(error.code == code)
        #expect(error.path == path)
        #expect(error.message(firstIndex: 0) == message)
    }

    @Test("a value has room for all that is kept of a stored one")
    func keepsLargeParts() throws {
        let type = try TypeRegistry().declare("struct Inner { x: Int }; struct Outer { z: Inner }")[1]
        let value = try tree(["z": ["x": 1]])
        // A type adds no more than a million nodes and 64 MB of its own.
        for large in [[Int](repeating: 1, count: 1_100_000), String(repeating: "a", count: 66_000_000)] as [Any] {
            let stored = try tree(["large": large, "z": ["x": 0]] as [String: Any])
            let list = try type.encode(value, over: stored).list
            #expect(list["large"] == stored["large"])
            #expect(list["z"] == value["z"])
        }
    }
}
