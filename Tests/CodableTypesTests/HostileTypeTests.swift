import CodableTypes
import PropertyLists
import TestSupport
import Testing

@Suite("Hostile types") struct HostileTypeTests {
    @Test(
        "refuses deep expressions and literals",
        arguments: [
            String(repeating: "[", count: 100_000), String(repeating: "[", count: 100_000) + "Int",
            String(repeating: "[String: ", count: 100_000),
        ])
    func refusesDepth(_ text: String) throws {
        #expect(caught { _ = try TypeRegistry().type(text) }?.subject == "Expected at most 64 levels of types")
        let literal = String(repeating: "[", count: 100_000)
        let error = caught { try TypeRegistry().declare("struct A { a: Any = \(literal) }") }
        #expect(error?.subject == "Expected at most 64 levels of values")
    }

    @Test("takes many optionals as one")
    func takesOptionals() throws {
        #expect(try makeType("Int" + String(repeating: "?", count: 100_000)).description == "Int?")
    }

    @Test("takes long chains of structs, each in the next, and frees them")
    func takesChains() throws {
        let registry = TypeRegistry()
        var text = "struct A0 { x: Int }\n"
        for number in 1..<5000 { text += "struct A\(number) { a: A\(number - 1); b: A\(number - 1)? }\n" }
        try registry.declare(text)
        try registry.declare(text)
        let last = try registry.type("A4999")
        #expect(try last == registry.type("A4999"))
        #expect(caught { _ = try last.decode(tree(["a": ["a": 1]])) }?.path == ["a", "a"])
    }

    @Test("takes enums with many cases, and refuses a second one of a name")
    func takesManyCases() throws {
        let names = (0..<50_000).map { "c\($0)" }.joined(separator: ", ")
        let type = try makeType("E", "enum E: String { \(names) }")
        #expect(try type.decode(tree("c49999")) == tree("c49999"))
        let error = caught { _ = try makeType("E", "enum E: String { \(names), c7 }") }
        #expect(error?.subject == "Enum E declares c7 twice")
    }

    @Test("takes structs with many fields, and values with many keys")
    func takesManyFields() throws {
        let fields = (0..<20_000).map { "f\($0): Int?" }.joined(separator: "; ")
        let type = try makeType("S", "struct S { \(fields) }")
        let stored = try tree(Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("u\($0)", $0) }))
        let known = try tree(Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("f\($0)", $0) }))
        #expect(try type.encode(known, over: stored).list.count == 40_000)
        #expect(caught { _ = try type.encode(stored) }?.code == .unknownField)
    }

    /// Structs of which each holds the one before it twice, with a default that is filled in from that one's own.
    private func doubling(_ levels: Int) -> String {
        (1...levels).reduce("struct A0 { x: Int = 1 }\n") { text, number in
            text + "struct A\(number) { a: A\(number - 1) = [:]; b: A\(number - 1) = [:] }\n"
        }
    }

    @Test("refuses defaults that hold one another, and grow beyond any memory")
    func refusesDoublingDefaults() throws {
        let small = try makeType("A10", doubling(10))
        #expect(try small.decode(tree([String: Any]())).document.nodeCount > 1 << 11)
        let error = caught { try TypeRegistry().declare(doubling(40)) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.subject.hasSuffix("grow to more than 1048576 nodes or 64 MB") == true)
    }

    @Test("refuses values that defaults make much larger than they are")
    func refusesGrowingValues() throws {
        let literal = "[" + Array(repeating: "1", count: 100_000).joined(separator: ", ") + "]"
        let type = try makeType("[A]", "struct A { a: [Int] = \(literal) }")
        let few = try tree(Array(repeating: [String: Any](), count: 5))
        #expect(try type.decode(few)[4]?["a"]?.count == 100_000)
        let many = try tree(Array(repeating: [String: Any](), count: 50))
        let decoding = caught { _ = try type.decode(many, at: ["list"]) }
        #expect(decoding?.code == .limitExceeded)
        #expect(
            decoding?.description
                == "The keys and defaults of [A] grow to more than 1048576 nodes or 64 MB at list")
        // A default is not written: where its key is stored, it goes.
        let map = try makeType("[String: A]", "struct A { a: [Int] = \(literal) }")
        let keys = (0..<50).map { "k\($0)" }
        let stored = try tree(Dictionary(uniqueKeysWithValues: keys.map { ($0, ["a": [Int]()]) }))
        let value = try tree(Dictionary(uniqueKeysWithValues: keys.map { ($0, [String: Any]()) }))
        #expect(try map.encode(value, over: stored).list == value)
        #expect(try map.encode(value).list == value)
    }

    @Test("counts long keys, names and defaults each time that they stand in a value")
    func countsSharedText() throws {
        let long = String(repeating: "k", count: 1 << 20)
        let few = try tree(Array(repeating: ["a": 1], count: 30))
        let many = try tree(Array(repeating: ["a": 1], count: 100))
        let keyed = try makeType("[K]", "struct K { a: Int @key(\(long)) }")
        #expect(try keyed.encode(few).list.count == 30)
        #expect(caught { _ = try keyed.encode(many) }?.code == .limitExceeded)
        let named = try makeType("[N]", "struct N { \(long): Int @key(a) }")
        #expect(try named.decode(few).count == 30)
        #expect(caught { _ = try named.decode(many) }?.code == .limitExceeded)
        let empty = try tree(Array(repeating: [String: Any](), count: 100))
        let defaulted = try makeType("[D]", "struct D { a: String = \"\(long)\" }")
        #expect(try defaulted.decode(tree([[String: Any]()])).count == 1)
        #expect(caught { _ = try defaulted.decode(empty) }?.code == .limitExceeded)
        let filled = try makeType("[F]", "struct F { \(long): Int = 1 }")
        #expect(caught { _ = try filled.decode(empty) }?.code == .limitExceeded)
        // As long in the file as in the program: nothing is added.
        let value = try tree(Array(repeating: [long: 1], count: 100))
        let plain = try makeType("[P]", "struct P { \(long): Int }")
        #expect(try plain.decode(value) == value)
        #expect(try plain.encode(value).list == value)
    }

    @Test("quotes the beginning and the end of what is long")
    func quotesLittle() throws {
        let long = "b" + String(repeating: "x", count: 20_000) + "é"
        let shown = "b" + String(repeating: "x", count: 39) + "…" + String(repeating: "x", count: 39) + "é"
        let type = try makeType("E", "enum E: String { a }")
        #expect(
            caught { _ = try type.decode(tree(long)) }?.description
                == "Cannot initialize E from invalid String value \(shown)")
        let structure = try makeType("S", "struct S { a: Int? }")
        #expect(caught { _ = try structure.encode(tree([long: 1])) }?.description == "S has no field \(shown)")
        #expect(
            caught { _ = try TypeRegistry().type(long) }?.description
                == "No type is named \(shown) (line 1, column 1)")
        let error = caught { _ = try TypeRegistry().type("[Int \(long)") }
        #expect(error?.description == "Expected \"]\", found \"\(shown)\" (line 1, column 6)")
    }

    @Test("a name that means nothing is an error wherever it stands", arguments: ["B", "[B]?", "[String: B]"])
    func refusesUnknownNames(_ expression: String) {
        let registry = TypeRegistry()
        #expect(caught { try registry.declare("struct A { a: \(expression) }") }?.code == .unknownType)
        #expect(caught { _ = try registry.type("A") }?.code == .unknownType)
    }

    @Test("reads any text without a crash", arguments: 0..<200)
    func readsRandomText(_ seed: Int) {
        let words = [
            "struct", "enum", "A", "Int", "String", "{", "}", "[", "]", ":", ";", ",", "=", "@key", "@transient", "(",
            ")",
            "1", "...", "-", "\"a\"", "\"", "\\u{", "?", "\n", "/*", "*/", "//", "true", "\0", "é", "1e9",
        ]
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            let count = Int.random(in: 0..<30, using: &random)
            var text = (0..<count).map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: " ")
            if Bool.random(using: &random) { text = "struct A { " + text }
            let registry = TypeRegistry()
            if let error = caught({ try registry.declare(text) }) { #expect(error.isAboutType) }
            if let error = caught({ _ = try registry.type(text) }) { #expect(error.isAboutType) }
        }
    }
}
