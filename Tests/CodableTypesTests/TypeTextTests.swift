internal import CodableTypes
internal import PropertyLists
internal import Testing

@Suite("Types as text") struct TypeTextTests {
    @Test(
        "reads an expression and gives it back",
        arguments: [
            "Bool", "Int", "Int8", "UInt64", "Float", "Double", "Decimal", "String", "Data", "Date", "URL", "UUID",
            "Duration", "UID", "Any", "[Int]", "[[String]]", "[String: Int]", "[String: [String: Data]]", "Int?",
            "[Int?]?", "Int(1...16384)", "Int(-5...5)", "UInt8(0...9)", "Double(0.0...1.0)", "String(1...8)",
            "Data(0...4)", "[Int](2...2)", "[String: Int(0...1)]?", "Window", "[Window]?",
        ])
    func readsExpressions(_ text: String) throws {
        #expect(try makeType(text, window).description == text)
    }

    @Test(
        "reads an expression and gives it back in its plain form",
        arguments: [
            (" [ Int ] ", "[Int]"), ("[String:Int]", "[String: Int]"), ("Int??", "Int?"), ("Int(7)", "Int(7...7)"),
            ("Int(1_000...2_000)", "Int(1000...2000)"), ("Int /* a comment */ ? // and one more", "Int?"),
            ("Double(0...1)", "Double(0.0...1.0)"), ("[Int](3)", "[Int](3...3)"),
            ("Double(-1e3...1)", "Double(-1000.0...1.0)"),
        ])
    func readsOtherForms(_ text: String, _ plain: String) throws {
        #expect(try makeType(text).description == plain)
    }

    @Test(
        "says what is wrong in an expression, and where",
        arguments: [
            ("", "Expected a type, found the end (line 1, column 1)"),
            ("  ", "Expected a type, found the end (line 1, column 3)"),
            ("[Int", "Expected \"]\", found the end (line 1, column 5)"),
            ("[Int: String]", "Expected String as the type of keys, found \"Int\" (line 1, column 2)"),
            ("[ Int: String]", "Expected String as the type of keys, found \"Int\" (line 1, column 3)"),
            ("Int Int", "Expected the end of the type, found \"Int\" (line 1, column 5)"),
            ("Int!", "Expected the end of the type, found \"!\" (line 1, column 4)"),
            ("Window", "No type is named Window (line 1, column 1)"),
            ("[\n  Größe]", "No type is named Größe (line 2, column 3)"),
            ("[ö: Int]", "No type is named ö (line 1, column 2)"),
            ("Int(a)", "Expected a number, found \"a\" (line 1, column 5)"),
            ("Int(2...1)", "Expected two numbers that the type holds, the lower first (line 1, column 11)"),
            (
                "Int(1...99999999999999999999)",
                "Expected two numbers that the type holds, the lower first (line 1, column 30)"
            ),
            ("String(-1)", "Expected two numbers that the type holds, the lower first (line 1, column 11)"),
            ("Int(1..2)", "Expected \")\", found \".\" (line 1, column 6)"),
            ("Int(-)", "Expected a number, found \"-\" (line 1, column 5)"),
            ("Int /* a", "Expected an end of the comment, found \"/\" (line 1, column 5)"),
            ("Bool(1)", "Expected the end of the type, found \"(\" (line 1, column 5)"),
            ("Int\0", "Expected the end of the type, found \"\0\" (line 1, column 4)"),
        ])
    func refusesExpressions(_ text: String, _ wanted: String) {
        #expect(message { _ = try makeType(text) } == wanted)
    }

    @Test(
        "says what is wrong in a declaration, and where",
        arguments: [
            ("class A {}", "Expected struct or enum, found \"class\" (line 1, column 1)"),
            ("struct A { a: Int } ;", "Expected struct or enum, found \";\" (line 1, column 21)"),
            ("struct", "Expected the struct's name, found the end (line 1, column 7)"),
            ("struct A", "Expected \"{\", found the end (line 1, column 9)"),
            ("struct A {", "Expected a field's name or \"}\", found the end (line 1, column 11)"),
            ("struct A { a }", "Expected \":\", found \"}\" (line 1, column 14)"),
            ("struct A { a: Int b: Int }", "Expected \";\" or \"}\", found \"b\" (line 1, column 19)"),
            ("struct A { a: B }", "No type is named B"),
            ("struct A { a: Int; a: Int }", "Struct A declares two fields a (line 1, column 8)"),
            ("struct A { a: Int; b: Int @key(a) }", "Struct A stores two fields under the key a (line 1, column 8)"),
            ("struct A { a: Int @kye(b) }", "Expected key or transient, found \"kye\" (line 1, column 20)"),
            ("struct A { a: Int @key b }", "Expected \"(\", found \"b\" (line 1, column 24)"),
            ("struct A { a: Int = true }", "Expected BinaryInteger, found Bool (line 1, column 21)"),
            ("struct A { a: Int(1...5) = 9 }", "Expected 1...5, found 9 (line 1, column 28)"),
            ("struct A {\n a: [Int] = [1, true]\n}", "Expected BinaryInteger at [1], found Bool (line 2, column 13)"),
            ("struct A { a: T = c }\nenum T { b }", "Expected a value of T, found \"c\" (line 1, column 19)"),
            ("struct A { a: String = \"b }", "Expected an end of the string, found \"b\" (line 1, column 25)"),
            (
                "struct A { a: String = \"\\x\" }",
                "Expected an escape: \\\" \\\\ \\n \\t \\r \\0 \\u{…}, found \"x\" (line 1, column 26)"
            ),
            (
                "struct A { a: String = \"\\u{D800}\" }",
                "Expected a Unicode scalar in hexadecimal, found \"D800\" (line 1, column 28)"
            ),
            ("struct A { a: Double = 1e999 }", "Expected a number, found \"1e999\" (line 1, column 24)"),
            ("struct Int { a: Int }", "Int is a built-in type (line 1, column 1)"),
            ("struct Any { a: Int }", "Any is a built-in type (line 1, column 1)"),
            ("enum A { }", "Enum A has no cases (line 1, column 6)"),
            ("enum A { b, b }", "Enum A declares b twice (line 1, column 6)"),
            ("enum A: Int { b = 1, c = 1 }", "Enum A declares c twice (line 1, column 6)"),
            ("enum A:  Float { b }", "Expected String or Int, found \"Float\" (line 1, column 10)"),
            ("enum A: Int { b = c }", "Expected an integer, found \"c\" (line 1, column 19)"),
            ("enum A: Int { b = \"c\" }", "Expected an integer, found \"\"\" (line 1, column 19)"),
            ("enum A { b c }", "Expected \",\" or \"}\", found \"c\" (line 1, column 12)"),
            ("struct A { a: Int } struct A { b: Int }", "A already means another type (line 1, column 21)"),
            ("struct A { a: A = [:] }", "Dictionary does not contain key a (line 1, column 19)"),
        ])
    func refusesDeclarations(_ text: String, _ wanted: String) {
        let registry = TypeRegistry()
        #expect(message { try registry.declare(text) } == wanted)
        #expect(throws: TypeError.self, "nothing is declared") { _ = try registry.type("A") }
    }

    @Test("gives the declared types in the order of the text")
    func givesDeclaredTypes() throws {
        let types = try TypeRegistry().declare(window)
        #expect(types.map(\.description) == ["Window", "Theme"])
    }

    @Test(
        "reads every literal",
        arguments: [
            Row("Bool = true", [:], true), Row("Bool = false", [:], false), Row("Int = -7", [:], -7),
            Row("UInt64 = 18446744073709551615", [:], UInt64.max), Row("Double = 1.5e2", [:], 150.0),
            Row("Double = 3", [:], 3.0), Row("String = \"a\\n\\t\\r\\0\\\"\\\\\\u{1F600}\"", [:], "a\n\t\r\0\"\\😀"),
            Row("[Int] = [1, 2,]", [:], [1, 2]), Row("[String: Int] = [\"b\": 2, \"a\": 1]", [:], ["a": 1, "b": 2]),
            Row("[String: Int] = [:]", [:], [String: Int]()), Row("[Int] = []", [:], [Int]()),
            Row("[[Int]] = [[1], []]", [:], [[1], []]), Row("T = b", [:], "zwei"),
            Row("[T] = [a, b]", [:], ["a", "zwei"]),
            Row("N = d", [:], 6), Row("B = [\"t\": b]", [:], ["t": "zwei", "n": 5]),
            Row("Any = [\"x\": [1, \"y\"]]", [:], ["x": [1, "y"]]), Row("Int? = 4", [:], 4),
        ])
    func readsLiterals(_ row: Row) throws {
        let text =
            "struct A { v: \(row.text) } struct B { t: T; n: N = c } enum T { a, b = \"zwei\" } enum N: Int { c = 5, d }"
        #expect(try makeType("A", text).decode(tree([:])) == tree(["v": row.wanted]))
    }

    @Test("the same name with the same meaning is fine, with another an error")
    func redeclares() throws {
        let registry = TypeRegistry()
        try registry.declare(window)
        try registry.declare(window)
        let error = typeError { try registry.declare("enum Other { a } enum Theme { light }") }
        #expect(error?.code == .redeclared)
        #expect(error?.message(firstIndex: 0) == "Theme already means another type")
        #expect(throws: TypeError.self, "nothing is declared where there is an error") { try registry.type("Other") }
        #expect(try registry.type("Theme").decode(tree("dark")) == tree("dark"))
    }

    @Test("a registry for scripts takes the new meaning of a name")
    func replaces() throws {
        let registry = TypeRegistry(redeclaration: .replaces)
        let old = try registry.declare("enum T { a }")[0]
        try registry.declare("enum T { b }")
        #expect(try registry.type("T").decode(tree("b")) == tree("b"))
        #expect(try old.decode(tree("a")) == tree("a"))
        try registry.declare("struct B { a: [L] } struct L { n: Int; l: L? }")
        let outer = try registry.type("B")
        let value = try tree(["a": [["n": 1, "l": ["n": 2]]]])
        #expect(try outer.decode(value) == value)
        try registry.declare("struct L { s: String }")
        #expect(typeError { _ = try outer.decode(value) }?.code == .missingField, "a name means what it means now")
    }

    @Test("registries know nothing of one another")
    func registriesAreSeparate() throws {
        let first = TypeRegistry()
        try first.declare("enum T { a }")
        #expect(throws: TypeError.self) { try TypeRegistry().type("T") }
    }

    @Test("types outlive their registry")
    func outlivesRegistry() throws {
        let type = try makeType("Tree", "struct Tree { children: [Tree] = [] }")
        #expect(try type.decode(tree(["children": [[:]]])) == tree(["children": [["children": [Int]()]]]))
    }
}
