import CodableTypes
import PropertyLists
import Testing

@Suite("Enums with associated values") struct VariantTests {
    static let text = """
        enum Shape {
            circle(radius: Double = 1, note: String?), square(Double), pair(Int, Int)
            empty
        }
        """

    private func type(_ name: String = "Shape") throws -> CodableType {
        let registry = TypeRegistry()
        try registry.declare(Self.text)
        return try registry.type(name)
    }

    private func json(_ text: String) throws -> PropertyList {
        try PropertyList(parsing: Array(text.utf8), as: .json)
    }

    static let storedRows: [(String, String)] = [
        (#"{"circle": {"radius": 2}}"#, #"{"circle": {"radius": 2.0}}"#),
        (#"{"circle": {}}"#, #"{"circle": {"radius": 1.0}}"#),
        (#"{"circle": {"note": "$null"}}"#, #"{"circle": {"radius": 1.0}}"#),
        (#"{"circle": {"note": "x", "more": []}}"#, #"{"circle": {"note": "x", "radius": 1.0}}"#),
        (#"{"square": {"_0": 2.5}}"#, #"{"square": {"_0": 2.5}}"#),
        (#"{"pair": {"_0": 1, "_1": 2, "more": 3}}"#, #"{"pair": {"_0": 1, "_1": 2}}"#),
        (#"{"empty": {}}"#, #"{"empty": {}}"#),
        (#"{"empty": {"a": 1}, "future": 1}"#, #"{"empty": {}}"#),
    ]

    @Test("a case is a dictionary of its values, by label or by place", arguments: storedRows)
    func decodes(_ stored: String, _ value: String) throws {
        #expect(try type().decode(try json(stored)) == json(value))
        #expect(try type("[Shape]").decode(try json("[\(stored)]")) == json("[\(value)]"))
    }

    static let wrongStored: [(String, String, PropertyListPath)] = [
        ("{}", "Invalid number of keys found, expected one at shape", ["shape"]),
        (#"{"oval": 1}"#, "Invalid number of keys found, expected one at shape", ["shape"]),
        (
            #"{"empty": {}, "square": {"_0": 1.0}}"#, "Invalid number of keys found, expected one at shape", ["shape"]
        ),
        (#"{"square": {}}"#, "Dictionary does not contain key shape.square._0", ["shape", "square"]),
        (#"{"square": 1}"#, "Expected Dictionary<String, Any> at shape.square, found Int", ["shape", "square"]),
        (#"{"empty": 1}"#, "Expected Dictionary<String, Any> at shape.empty, found Int", ["shape", "empty"]),
        ("5", "Expected Dictionary<String, Any> at shape, found Int", ["shape"]),
        (
            #"{"pair": {"_0": 1, "_1": "x"}}"#, "Expected BinaryInteger at shape.pair._1, found String",
            ["shape", "pair", "_1"]
        ),
    ]

    @Test("a stored value that is of no case is told in Swift's words", arguments: wrongStored)
    func refusesStored(_ stored: String, _ message: String, _ path: PropertyListPath) throws {
        let type = try type()
        let error = try typeError { _ = try type.decode(try json(stored), at: ["shape"]) }
        #expect(error.code == .mismatch || error.code == .missingField)
        #expect(error.description == message)
        #expect(error.path == path)
    }

    static let mergedRows: [(String, String, String)] = [
        // The same case: its unknown values stay.
        (
            #"{"circle": {"radius": 2.0}}"#, #"{"circle": {"radius": 5.0, "blur": 3}, "future": 1}"#,
            #"{"circle": {"radius": 2.0, "blur": 3}, "future": 1}"#
        ),
        // Another case: the old one's values go, keys that belong to none stay.
        (
            #"{"square": {"_0": 2.0}}"#, #"{"circle": {"radius": 5.0, "blur": 3}, "future": 1}"#,
            #"{"square": {"_0": 2.0}, "future": 1}"#
        ),
        (#"{"empty": {}}"#, #"{"square": {"_0": 1.0}, "a": 1, "z": 2}"#, #"{"empty": {}, "a": 1, "z": 2}"#),
        // A default that is given is written, and a value that is left out is reset.
        (#"{"circle": {"radius": 1.0}}"#, #"{"circle": {"radius": 5.0}}"#, #"{"circle": {"radius": 1.0}}"#),
        (#"{"circle": {"radius": 1.0}}"#, #"{"circle": {}}"#, #"{"circle": {"radius": 1.0}}"#),
        (#"{"circle": {}}"#, #"{"circle": {"radius": 4.0, "note": "x"}}"#, #"{"circle": {}}"#),
    ]

    @Test("a set replaces the values of its case, and keeps what the type does not know", arguments: mergedRows)
    func keepsUnknown(_ value: String, _ stored: String, _ result: String) throws {
        #expect(try type().encode(try json(value), over: try json(stored)).list == json(result))
        let list = try type("[Shape]").encode(try json("[\(value)]"), over: try json("[\(stored)]"))
        #expect(list.list == (try json("[\(result)]")))
        let options = CodableType.EncodeOptions(replaces: true)
        let replaced = try type().encode(try json(value), over: try json(stored), options: options).list
        #expect(replaced.keys == (try json(value)).keys)
    }

    static let wrongGiven: [(String, String)] = [
        (#"{"oval": 1}"#, "Shape at shapes[0] has no case oval; expected circle, square, pair, empty"),
        (#"{"circel": {}}"#, "Shape at shapes[0] has no case circel; did you mean circle?"),
        ("{}", "Invalid number of keys found, expected one at shapes[0]"),
        (#"{"empty": {}, "square": {}}"#, "Invalid number of keys found, expected one at shapes[0]"),
        (#"{"circle": {"radus": 1}}"#, "Shape.circle at shapes[0].circle has no field radus; did you mean radius?"),
    ]

    @Test("a value that is of no case is refused", arguments: wrongGiven)
    func refusesGiven(_ value: String, _ message: String) throws {
        let type = try type("[Shape]")
        let error = try typeError { _ = try type.encode(try json("[\(value)]"), at: ["shapes"]) }
        #expect(error.description == message)
    }

    @Test("what is of a case already is not copied")
    func unchanged() throws {
        let list = try tree([["square": ["_0": 1.0]], ["empty": [String: Any]()]] as [Any])
        let type = try type("[Shape]")
        #expect(try type.decode(list) == list)
        #expect(try type.encode(list, over: list).list == list)
    }

    @Test(
        "a declaration printed again is itself, and means the same elsewhere",
        arguments: [
            "enum A { one, two(Int), three(first: [String]?, Double = 0.5), \"a b\"(\"c d\": Int) }",
            "enum A { one }",
            "enum A { leaf(Int), node(A, A) }",
        ])
    func printing(_ text: String) throws {
        let type = try #require(try TypeRegistry().declare(text).first)
        #expect(type.declaration == text)
        #expect(try TypeRegistry().declare(try #require(type.declaration)).first == type)
        #expect(try TypeRegistry().declare("indirect " + text).first == type)
    }

    @Test("recursive enums are walked to the end")
    func recursive() throws {
        let registry = TypeRegistry()
        try registry.declare("enum Tree { leaf(Int), node(left: Tree, right: Tree) }")
        let leaf: [String: Any] = ["leaf": ["_0": 1.0]]
        let value = try registry.type("Tree").decode(try tree(["node": ["left": leaf, "right": leaf]]))
        #expect(value["node"]?["right"]?["leaf"]?["_0"]?.integer == 1)
        var deep = try tree(leaf)
        for _ in 0..<300 {
            deep = try PropertyList.emptyDictionary.setting(
                deep, at: ["node", "left"], limits: PropertyListLimits(depth: 2048))
        }
        let error = try typeError { _ = try registry.type("Tree").decode(deep) }
        #expect(error.description == "Values are nested deeper than 512 levels")
    }

    static let defaultRows: [(String, String)] = [
        ("Shape = empty", #"{"empty": {}}"#), ("Shape = .square(2)", #"{"square": {"_0": 2.0}}"#),
        ("Shape = circle(radius: 3)", #"{"circle": {"radius": 3.0}}"#),
        ("Shape = circle", #"{"circle": {"radius": 1.0}}"#),
        ("Shape? = [\"pair\": [\"_0\": 1, \"_1\": 2]]", #"{"pair": {"_0": 1, "_1": 2}}"#),
    ]

    @Test("defaults name cases, with their values", arguments: defaultRows)
    func defaults(_ field: String, _ value: String) throws {
        let registry = TypeRegistry()
        // Before and after the enum: the order does not matter.
        try registry.declare("struct Before { a: \(field) }\n\(Self.text)\nstruct After { a: \(field) }")
        for name in ["Before", "After"] {
            #expect(try registry.type(name).decode(try json("{}"))["a"] == json(value))
        }
        let declaration = try #require(try registry.type("Before").declaration)
        let again = TypeRegistry()
        try again.declare(Self.text + "\n" + declaration)
        #expect(try again.type("Before") == registry.type("Before"))
    }

    @Test(
        "a wrong declaration points at its place",
        arguments: [
            ("enum A { one(Nope) }", "No type is named Nope (line 1, column 14)"),
            ("enum A { one(Int }", "Expected \",\" or \")\", found \"}\" (line 1, column 18)"),
            ("enum A { one, one(Int) }", "Enum A declares one twice (line 1, column 6)"),
            ("enum A { one(a: Int, a: Int) }", "Struct A.one declares two fields a (line 1, column 10)"),
            ("enum A { one(a: Int = \"x\") }", "Expected BinaryInteger, found String (line 1, column 23)"),
            ("enum A: String { one(Int) }", "Expected \",\" or \"}\", found \"(\" (line 1, column 21)"),
            ("enum A { one = 1 }", "Expected \",\" or \"}\", found \"=\" (line 1, column 14)"),
            ("enum A { }", "Enum A has no cases (line 1, column 6)"),
            ("indirect struct A { }", "Expected struct or enum, found \"indirect\" (line 1, column 1)"),
            ("struct A { a: B = three }; enum B { one }", "Expected a value of B, found \"three\" (line 1, column 19)"),
        ])
    func wrong(_ text: String, _ message: String) throws {
        let registry = TypeRegistry()
        let error = try typeError { try registry.declare(text) }
        #expect(error.isAboutType)
        #expect(error.description == message)
        #expect(throws: TypeError.self) { try registry.type("A") }
    }

    @Test("a tree describes the same type")
    func described() throws {
        let description: [String: Any] = [
            "kind": "enum", "name": "Shape",
            "cases": [
                [
                    "name": "circle",
                    "values": [
                        ["name": "radius", "type": "Double", "default": 1] as [String: Any],
                        ["name": "note", "type": "String?"],
                    ],
                ], ["name": "square", "values": [["type": "Double"]]],
                ["name": "pair", "values": [["type": "Int"], ["type": "Int"]]], ["name": "empty"],
            ] as [[String: Any]],
        ]
        #expect(try TypeRegistry().declare(description: try tree(description)) == type())
    }

    @Test("editors are told each case as a table")
    func annotations() throws {
        let registry = TypeRegistry()
        try registry.declare(Self.text)
        #expect(
            registry.annotations == """
                ---@meta

                ---@alias Shape { circle: { radius?: number, note?: string } }|{ square: { _0: number } }|\
                { pair: { _0: integer, _1: integer } }|{ empty: {} }

                """)
    }
}
