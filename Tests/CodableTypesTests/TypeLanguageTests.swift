import CodableTypes
import Foundation
import PropertyLists
import Testing

@Suite struct TypeLanguageTests {
    static let expressions = [
        "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "Int128", "UInt", "UInt8", "UInt16", "UInt32", "UInt64",
        "UInt128", "Float", "Double", "Decimal", "String", "Data", "Date", "URL", "UUID", "Duration", "UID", "Any",
        "[Int]", "[String: [Double?]]?", "Int(1...16384)", "Double(0.5...1.5)", "String(1...64)",
        "[Data(4...4)](0...3)",
        "Window", "[Window]?", "[String: Theme]",
    ]

    @Test("an expression printed again is itself, and means the same", arguments: expressions)
    func roundTrip(_ text: String) throws {
        let registry = try sampleRegistry()
        let type = try registry.type(text)
        #expect(type.description == text)
        #expect(try registry.type(" \(text) // comment") == type)
    }

    static let wrong: [(String, Int, String)] = [
        ("", 1, "Expected a type, found the end (line 1, column 1)"),
        ("[Int", 5, "Expected \"]\", found the end (line 1, column 5)"),
        ("[Int: String]", 2, "Expected String as the type of keys, found \"Int\" (line 1, column 2)"),
        ("Int String", 5, "Expected the end of the type, found \"String\" (line 1, column 5)"),
        ("Nonsense", 1, "No type is named Nonsense (line 1, column 1)"),
        ("[Windwo]", 2, "No type is named Windwo; did you mean Window? (line 1, column 2)"),
        (
            String(repeating: "[", count: 100), 65,
            "Expected at most 64 levels of types, found \"[\" (line 1, column 65)"
        ),
    ]

    @Test("a wrong expression is an error that points at its column", arguments: wrong)
    func errors(_ text: String, _ column: Int, _ message: String) throws {
        let registry = try sampleRegistry()
        let error = try typeError { _ = try registry.type(text) }
        #expect(error.isAboutType)
        #expect(error.location == .line(1, column: column))
        #expect(error.description == message)
    }

    static let declarations = [
        """
        struct Everything {
            plain: Int
            renamed: String @key("a key")
            word: String @key(other)
            optional: [Int]?
            flag: Bool = true
            count: Int = -5
            big: UInt64 = 18446744073709551615
            ratio: Double = 0.1
            infinite: Double = inf
            text: String = "a \\"quote\\" \\\\ \\n"
            bytes: Data = data("00ff10")
            moment: Date = date(1.5)
            reference: UID = uid(7)
            list: [String] = ["a", "b"]
            table: [String: Int] = ["a": 1]
            none: [String: Int] = [:]
            exact: Decimal = "1.25"
            scratch: Any @transient
            "two words": Int(0...9) = 5
        }
        """,
        "enum Mode: String { on, off = \"OFF\", \"half on\" = \"half\" }",
        "enum Size: Int { small = -1, large = 5 }",
    ]

    @Test("a default may have blanks in it, and values of a case without labels")
    func defaults() throws {
        let types = try TypeRegistry().declare(
            """
            enum E { pair(Int, String) }
            struct S { e: E = .pair( 1 , "b" ); t: [String: Int] = [ "a" : 1 , "b": 2 ] }
            """)
        let value = try types[1].decode(PropertyList([:]))
        #expect(value["e"]?["pair"]?["_0"]?.integer == 1 && value["e"]?["pair"]?["_1"]?.string == "b")
        #expect(value["t"]?["a"]?.integer == 1 && value["t"]?["b"]?.integer == 2)
    }

    @Test(
        "a wrong word in a declaration is an error that says what was expected",
        arguments: [
            (#"struct S { a: String = "x\q" }"#, #"Expected an escape: \" \\ \n \t \r \0 \u{…}, found "q""#),
            (#"struct S { a: String = "x\u41" }"#, #"Expected "{", found "41""#),
            ("struct S { a: Int @key b) }", #"Expected "(", found "b""#),
            ("struct S { a: Int @key( /* b", "Expected an end of the comment, found"),
            ("enum E { /* a", "Expected an end of the comment, found"),
            ("enum E: String { a, /* b", "Expected an end of the comment, found"),
        ])
    func words(_ text: String, _ message: String) throws {
        let error = try typeError { _ = try TypeRegistry().declare(text) }
        #expect(error.description.hasPrefix(message))
    }

    @Test("a text may have every escape, and a name as well")
    func escapes() throws {
        let text = #"struct S { "\u{41}b": String = "\"\\\n\t\r\0\u{1F600}\u{e9}!" }"#
        let value = try TypeRegistry().declare(text)[0].decode(PropertyList([:]))
        #expect(value["Ab"]?.string == "\"\\\n\t\r\0\u{1F600}\u{e9}!")
        for wrong in ["\\u{}", "\\u{110000}", "\\u{41"] {
            #expect(throws: TypeError.self) { try TypeRegistry().declare("struct S { a: String = \"\(wrong)\" }") }
        }
    }

    @Test("a type that one text declares twice means the same each time, defaults included")
    func twice() throws {
        let type = try TypeRegistry().declare("struct A { x: Int = 1 } struct A { x: Int = 1 }")[0]
        #expect(try type.decode(PropertyList([:])) == tree(["x": 1]))
        let error = try typeError {
            _ = try TypeRegistry().declare("struct A { x: Int = 1 }\nstruct A { x: Int = 2 }")
        }
        #expect(error.code == .redeclared && error.location == .line(2, column: 1))
    }

    @Test("a declaration printed again is itself, and means the same elsewhere", arguments: declarations)
    func declarationRoundTrip(_ text: String) throws {
        let type = try #require(try TypeRegistry().declare(text).first)
        let printed = try #require(type.declaration)
        let again = try #require(try TypeRegistry().declare(printed).first)
        #expect(again == type)
        #expect(again.declaration == printed)
    }

    @Test("the forms that a declaration may take")
    func forms() throws {
        let registry = TypeRegistry()
        let types = try registry.declare(
            """
            /* a comment /* inside */ */ struct A { x: Int; y: B?; z: C = two
              w: Date = date("2001-01-01T00:00:10Z") }
            struct B { a: A? }   // mutual
            enum C: String { one; }
            """.replacingOccurrences(of: "{ one; }", with: "{ one, two }"))
        #expect(types.map(\.description) == ["A", "B", "C"])
        let value = try types[0].decode(try tree(["x": 1, "y": ["a": ["x": 2]]] as [String: Any]))
        #expect(value["z"]?.string == "two")
        #expect(value["w"]?.date == 10)
        #expect(value["y"]?["a"]?["x"]?.integer == 2)
    }

    static let wrongDeclarations: [(String, String)] = [
        ("struct A { x: Int x: Int }", "Expected \";\" or \"}\", found \"x\" (line 1, column 19)"),
        ("struct A { x: Int; x: Int }", "Struct A declares two fields x (line 1, column 8)"),
        ("struct A { x: Int; y: Int @key(x) }", "Struct A stores two fields under the key x (line 1, column 8)"),
        ("struct A {\n  x: Int = \"a\"\n}", "Expected BinaryInteger, found String (line 2, column 12)"),
        ("struct A { x: Nope }", "No type is named Nope (line 1, column 15)"),
        ("enum E: Double { a }", "Expected String or Int, found \"Double\" (line 1, column 9)"),
        ("enum E: String { a, a }", "Enum E declares a twice (line 1, column 6)"),
        ("struct Int { }", "Int is a built-in type (line 1, column 1)"),
        ("class A { }", "Expected struct or enum, found \"class\" (line 1, column 1)"),
        ("struct A { x: A }", "Struct A contains itself: make x optional or an array"),
        ("struct A { x: B }; struct B { y: A }", "Struct A contains itself: make x optional or an array"),
    ]

    // proves: G59
    @Test("a wrong declaration is an error, and declares nothing", arguments: wrongDeclarations)
    func declarationErrors(_ text: String, _ message: String) throws {
        let registry = TypeRegistry()
        let error = try typeError { try registry.declare(text) }
        #expect(error.isAboutType)
        #expect(error.description == message)
        #expect(throws: TypeError.self) { try registry.type("A") }
    }
}
