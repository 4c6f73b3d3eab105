import PropertyLists
import Testing

@testable import CodableTypes

@Suite("What a walk changes") struct UnchangedTests {
    static var unchanged: [(String, Any)] {
        [
            (
                "Shape",
                ["name": "n", "points": [["x": 1.0, "y": 2.0]], "label": ["x": 0.0, "y": 0.0]] as [String: Any]
            ),
            ("[Shape]", [["name": "n", "points": [[String: Any]]()] as [String: Any]]),
            ("[Int]", Array(0..<100)), ("[String: [Double]]", ["a": [1.0], "b": []]), ("Theme", "dark"), ("Level", 10),
            (
                "Node",
                ["value": 1, "children": [["value": 2, "children": [[String: Any]]()] as [String: Any]]]
                    as [String: Any]
            ),
        ]
    }

    @Test("a value that conforms comes back as the same document, both ways", arguments: unchanged.indices)
    func sameDocument(_ index: Int) throws {
        let (name, value) = Self.unchanged[index]
        let type = try sampleRegistry().type(name)
        let list = try tree(value)
        #expect(try type.decode(list).document === list.document)
        #expect(try type.encode(list).list.document === list.document)
        let stored = try tree(value)
        #expect(try type.encode(list, over: stored).list.document === list.document)
    }

    @Test("a default that is given is stored, without a new document")
    func storedDefault() throws {
        let registry = TypeRegistry()
        try registry.declare("struct A { x: Int = 1; y: B? }; struct B { z: Int = 2 }")
        let type = try registry.type("[String: [A]]")
        let stored = try tree(["k": [["x": 1, "y": ["z": 2]] as [String: Any], ["x": 5, "y": ["z": 3]]]])
        let value = try tree(["k": [["x": 1, "y": ["z": 2]] as [String: Any], ["x": 6, "y": ["z": 2]]]])
        #expect(try type.encode(value, over: stored).list.document === value.document)
        let bare = try tree(["k": [["x": 5], ["x": 6]]])
        let encoded = try type.encode(value, over: bare).list
        #expect(encoded == value)
    }

    @Test("a part of a larger document comes back as that part")
    func part() throws {
        let type = try sampleRegistry().type("Point")
        let whole = try tree(["a": ["x": 1.0, "y": 2.0], "b": 1] as [String: Any])
        let part = try #require(whole["a"])
        let decoded = try type.decode(part)
        #expect(decoded.document === whole.document)
        #expect(decoded == part)
    }

    @Test("the walks say truly what they changed, on every row of the other tables", arguments: DecodingTests.accepted)
    func changes(_ row: DecodingTests.Row) throws {
        let type = try sampleRegistry().type(row.type)
        let stored = try tree(row.stored)
        let plan = try TypePlanCompiler.plan(of: type.form, generation: 0)
        let decoded = try PlanDecoding.decoded(stored, plan, as: plan.root)
        #expect(decoded.isUnchanged == (try tree(row.result) == stored))
        let encoded = try PlanEncoding.encoded(decoded.list, plan, as: plan.root)
        #expect(encoded.isUnchanged == (encoded.list == decoded.list))
        #expect(encoded.isExact == (try PlanDecoding.decoded(encoded.list, plan, as: plan.root).list == decoded.list))
    }

    private static var rows: [(type: String, stored: Any, leavesOut: Bool)] {
        [
            ("[Shape]", [["name": "n", "points": [[String: Any]]()] as [String: Any]], false),
            ("[Shape]", [["name": "n", "points": [["x": 1.0, "y": 2.0, "z": 3.0]]] as [String: Any]], true),
            ("[String: Point]", ["a": ["x": 1.0, "y": 2.0], "b": ["x": 1, "y": 2]], false),
            ("[String: Point]", ["a": ["w": 0.0, "x": 1.0, "y": 2.0]], true),
            ("Window", ["width": 5, "window_title": "T"] as [String: Any], false),
            ("Window", ["width": 5, "title": "T"] as [String: Any], true),
        ]
    }

    @Test("a walk says whether the value holds something that the type does not know", arguments: rows.indices)
    func unknown(_ index: Int) throws {
        let row = Self.rows[index]
        let type = try sampleRegistry().type(row.type)
        let plan = try TypePlanCompiler.plan(of: type.form, generation: 0)
        let stored = try tree(row.stored)
        let decoded = try PlanDecoding.decoded(stored, plan, as: plan.root)
        #expect(decoded.leavesOut == row.leavesOut)
    }
}
