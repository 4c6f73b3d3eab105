import CodableTypes
import PropertyLists
import Testing

@Suite struct RegistryTests {
    @Test("the same name with the same meaning is fine, with another it is an error")
    func redeclaring() throws {
        let registry = TypeRegistry()
        let first = try registry.declare("struct A { x: Int = 1 }")
        #expect(try registry.declare("struct A { x: Int = 1 }") == first)
        let error = try typeError { try registry.declare("struct A { x: Int = 2 }") }
        #expect(error.code == .redeclared)
        #expect(try registry.type("A") == first[0])
    }

    @Test("a registry that replaces takes the new meaning, and types given out keep theirs")
    func replacing() throws {
        let registry = TypeRegistry(redeclaration: .replaces)
        let old = try registry.declare("struct A { x: Int }")[0]
        try registry.declare("struct A { y: Int }")
        #expect(try old.decode(try tree(["x": 1])) == tree(["x": 1]))
        #expect(try registry.type("A").decode(try tree(["y": 1])) == tree(["y": 1]))
        #expect(throws: TypeError.self) { try registry.type("A").decode(try tree(["x": 1])) }
    }

    @Test("enums are the same where their cases have values of the same types", arguments: ["Int", "String", "E"])
    func variants(_ payload: String) throws {
        let (one, two) = (TypeRegistry(), TypeRegistry())
        try one.declare("enum E { none, some(Int) }")
        try two.declare("enum E { none, some(\(payload)) }")
        #expect(try (one.type("E") == two.type("E")) == (payload == "Int"))
        #expect(try (one.type("[E?]") == two.type("[E?]")) == (payload == "Int"))
        #expect(try one.type("[E]") == one.type("[E]"))
    }

    @Test("a type that is kept goes by the latest meaning of a name in it, however often that changes")
    func replacingOften() throws {
        let registry = TypeRegistry(redeclaration: .replaces)
        let kept = try registry.declare("struct N { x: Int; next: N? }")[0]
        for name in ["x", "y", "z", "w"] {
            try registry.declare("struct N { \(name): Int; next: N? }")
            let value = try tree(["x": 1, "next": [name: 2]] as [String: Any])
            #expect(try kept.decode(value) == value)
            #expect(throws: TypeError.self) { try kept.decode(try tree(["x": 1, "next": ["q": 2]] as [String: Any])) }
        }
    }

    @Test("a recursive struct declared again has fields of its new meaning", arguments: ["text", "tree"])
    func replacingRecursive(_ way: String) throws {
        let registry = TypeRegistry(redeclaration: .replaces)
        func declare(_ field: String) throws -> CodableType {
            if way == "text" { return try registry.declare("struct N { \(field): Int; next: N? }")[0] }
            return try registry.declare(
                description: try tree(
                    [
                        "kind": "struct", "name": "N",
                        "fields": [["name": field, "type": "Int"], ["name": "next", "type": "N?"]],
                    ]
                        as [String: Any]))
        }
        _ = try declare("x")
        let new = try declare("y")
        let value = try tree(["y": 1, "next": ["y": 2.0]] as [String: Any])
        #expect(try new.decode(value) == tree(["y": 1, "next": ["y": 2]] as [String: Any]))
        #expect(throws: TypeError.self) { try new.decode(try tree(["y": 1, "next": ["x": 2]] as [String: Any])) }
    }

    @Test("two registries do not share names")
    func apart() throws {
        let one = TypeRegistry()
        let two = TypeRegistry()
        try one.declare("struct A { x: Int }")
        #expect(throws: TypeError.self) { try two.type("A") }
        try two.declare("struct A { x: String }")
        #expect(try one.type("A") != two.type("A"))
    }

    static var descriptions: [(Any, String)] {
        [
            ("Int", "Int"), (["kind": "array", "element": "Int"], "[Int]"),
            (
                ["kind": "dictionary", "value": ["kind": "optional", "wrapped": "Bool"]] as [String: Any],
                "[String: Bool?]"
            ),
            (["kind": "Int", "range": [1, 5]] as [String: Any], "Int(1...5)"),
            (["kind": "String", "length": [0, 5]] as [String: Any], "String(0...5)"),
            (["kind": "array", "element": "[Int]?", "length": [1, 2]] as [String: Any], "[[Int]?](1...2)"),
        ]
    }

    @Test("a description by tree means what the text means", arguments: descriptions.indices)
    func describes(_ index: Int) throws {
        let (description, text) = Self.descriptions[index]
        let registry = TypeRegistry()
        #expect(try registry.declare(description: try tree(description)) == registry.type(text))
    }

    @Test("a struct described by a tree is the struct declared by text")
    func describedStruct() throws {
        let described = try TypeRegistry().declare(
            description: try tree(
                [
                    "kind": "struct", "name": "Window",
                    "fields": [
                        ["name": "width", "type": ["kind": "Int", "range": [1, 16384]] as [String: Any]],
                        ["name": "title", "type": "String?", "key": "window_title"],
                        ["name": "tags", "type": "[String]", "default": [String]()] as [String: Any],
                        [
                            "name": "theme", "default": "dark",
                            "type": [
                                "kind": "enum", "name": "Theme", "raw": "String",
                                "cases": ["light", ["dark", "dark"]] as [Any],
                            ] as [String: Any],
                        ],
                        ["name": "scratch", "type": "Any", "transient": true] as [String: Any],
                    ] as [[String: Any]],
                ] as [String: Any]))
        #expect(try described == sampleRegistry().type("Window"))
    }

    static var wrongDescriptions: [(Any, PropertyListPath)] {
        [
            (5, []), (["kind": "array"], ["element"]), (["kind": "Nope"], []),
            (
                ["kind": "struct", "name": "A", "fields": [["name": "x", "type": "Nope2("]]] as [String: Any],
                ["fields", 0, "type"]
            ),
            (
                ["kind": "struct", "name": "A", "fields": [["name": "x", "type": "Int", "default": "t"]]]
                    as [String: Any],
                ["fields", 0, "default"]
            ),
            (["kind": "Int", "range": [5, 1]] as [String: Any], ["range"]),
        ]
    }

    @Test("a wrong description is an error with its path", arguments: wrongDescriptions.indices)
    func rejects(_ index: Int) throws {
        let (description, path) = Self.wrongDescriptions[index]
        let error = try typeError { try TypeRegistry().declare(description: try tree(description)) }
        #expect(error.isAboutType)
        #expect(error.path == path)
    }

    private struct Plain: Codable {
        var id: Int
        var note: String?
    }

    @Test("annotations show the beginning of a large default")
    func largeDefaults() throws {
        let registry = TypeRegistry()
        let numbers = Array(repeating: "1", count: 100_000).joined(separator: ", ")
        try registry.declare(
            "struct A { a: [Int] = [\(numbers)]; b: String = \"\(String(repeating: "x", count: 100_000))\" }")
        let lines = registry.annotations.split(separator: "\n")
        #expect(lines.count == 4 && lines.allSatisfy { $0.utf8.count < 1200 })
        #expect(lines[2].hasPrefix("---@field a? integer[] default [1, 1") && lines[2].hasSuffix("…"))
    }

    @Test("annotations tell every named type to the Lua language server")
    func annotations() throws {
        let registry = try sampleRegistry()
        try registry.register(Plain.self, as: "Plain", example: Plain(id: 1, note: nil))
        try registry.register(Plain.self, as: "Opaque")
        #expect(
            registry.annotations == """
                ---@meta

                ---@alias Level 0|10

                ---@class (exact) Node
                ---@field value integer
                ---@field children? Node[]

                ---@alias Opaque table

                ---@class (exact) Plain
                ---@field id integer
                ---@field note? any

                ---@class (exact) Point
                ---@field x number
                ---@field y number

                ---@class (exact) Shape
                ---@field name string
                ---@field points Point[]
                ---@field label? Point

                ---@alias Theme "light"|"dark"

                ---@class (exact) Window
                ---@field width integer Int(1...16384)
                ---@field title? string
                ---@field tags? string[] default []
                ---@field theme? Theme default "dark"
                ---@field scratch? any never stored

                """)
        #expect(try registry.type("Plain").declaration == "struct Plain {\n    id: Int\n    note: Any?\n}")
        #expect(try registry.type("Opaque").declaration == nil)
    }

    @Test("the types of fields with defaults are the same where type and default are")
    func defaultedParts() throws {
        func type(_ text: String) throws -> CodableType {
            try #require(try TypeRegistry().declare("struct A { x: \(text) }")[0].type(at: ["x"]))
        }
        #expect(try type("Int = 1") == type("Int = 1"))
        #expect(try type("Int = 1") != type("Int = 2"))
        #expect(try type("Int = 1") != type("Int8 = 1"))
        #expect(try type("Int = 1") != type("Int"))
    }

    @Test("the type of a part is that which all parts of an example have")
    func exampleParts() throws {
        struct Grid: Codable {
            var numbers = [[1], [2]]
            var mixed = [[1], []]
            var names = ["a": ["b": "c"]]
        }
        let registry = TypeRegistry()
        try registry.register(Grid.self, as: "Grid", example: Grid())
        let expected = "struct Grid {\n    mixed: [Any]\n    names: [String: [String: String]]\n    numbers: [[Int]]\n}"
        #expect(try registry.type("Grid").declaration == expected)
    }

    @Test("types are used and declared from several threads")
    func threads() async throws {
        let registry = try sampleRegistry()
        let node = try registry.type("Node")
        let value = try tree(["value": 1, "children": [["value": 2.0]]] as [String: Any])
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<16 {
                group.addTask {
                    try registry.declare("struct T\(index % 4) { next: T\(index % 4)?; node: Node? }")
                    let type = try registry.type("[T\(index % 4)]")
                    _ = try type.decode(try tree([["node": ["value": 1]]]))
                    return try node.decode(value)["children"]?[0]?["value"]?.integer == 2
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}
