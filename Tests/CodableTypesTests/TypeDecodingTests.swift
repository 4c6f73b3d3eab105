internal import CodableTypes
internal import FoundationEssentials
internal import PropertyLists
internal import Testing

@Suite("Typed values, decoded") struct TypeDecodingTests {
    @Test(
        "gives the program form",
        arguments: [
            Row("Int", 5, 5), Row("Int", 5.0, 5), Row("UInt64", UInt64.max, UInt64.max),
            Row("UInt64", 1e19, UInt64(1e19)),
            Row("Double", 5, 5.0), Row("Double", UInt64.max, 18446744073709551616.0),
            Row("Float", 0.1, Double(Float(0.1))),
            Row("Decimal", "1.50", "1.50"), Row("Decimal", 3, "3"), Row("Decimal", 0.1, "0.1"),
            Row("UUID", "e621e1f8-c36c-495a-93fc-0c247a3e6e5f", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
            Row("Int?", "$null", Int?.none as Any), Row("[Int?]", [1, "$null"], [1, nil] as [Int?]),
            Row("Any", ["a": [1]], ["a": [1]]), Row("Int(1...5)", 5, 5), Row("String(2)", "äö", "äö"),
            Row("Window", ["width": 1], ["width": 1, "tags": [Int](), "theme": "dark"]),
            Row(
                "Window", ["width": 1.0, "window_title": "$null", "x": 1],
                ["width": 1, "tags": [Int](), "theme": "dark"]),
            Row(
                "Window", ["width": 1, "window_title": "a", "tags": ["b"], "theme": "light", "draft": 1],
                ["width": 1, "title": "a", "tags": ["b"], "theme": "light"]),
            Row("[String: Window]", ["a": ["width": 2]], ["a": ["width": 2, "tags": [Int](), "theme": "dark"]]),
            Row("Theme", "light", "light"), Row("Level", 10, 10), Row("Level", 10.0, 10),
            Row("Tree", ["next": ["next": ["n": 4.0]]], ["next": ["next": ["n": 4]]]),
        ])
    func decodes(_ row: Row) throws {
        let type = try makeType(
            row.text, window + " enum Level: Int { low = 0, high = 10 } struct Tree { n: Int?; next: Tree? }")
        #expect(try type.decode(tree(row.given)) == tree(row.wanted))
        #expect(try type.decode(tree([1, row.given])[1] ?? tree(0)) == tree(row.wanted), "the same inside a document")
    }

    @Test(
        "says what is not of the type, and where",
        arguments: [
            Row("Int", true, "Expected BinaryInteger at SELF, found Bool"),
            Row("Int", "1", "Expected BinaryInteger at SELF, found String"),
            Row("Int", 1.5, "Double at SELF, cannot be exactly represented by Int"),
            Row("UInt8", 256, "Int at SELF, cannot be exactly represented by UInt8"),
            Row("UInt8", -1, "Int at SELF, cannot be exactly represented by UInt8"),
            Row("Int", UInt64.max, "UInt64 at SELF, cannot be exactly represented by Int"),
            Row("Int", Double.nan, "Double at SELF, cannot be exactly represented by Int"),
            Row("Int", Double.infinity, "Double at SELF, cannot be exactly represented by Int"),
            Row("Int(1...5)", 6, "Expected 1...5 at SELF, found 6"),
            Row("Double(0...1)", 1.5, "Expected 0.0...1.0 at SELF, found 1.5"),
            Row("Double(0...1)", Double.nan, "Expected 0.0...1.0 at SELF, found nan"),
            Row("Bool", 1, "Expected Bool at SELF, found Int"),
            Row("Double", "1", "Expected Double at SELF, found String"),
            Row("String", 1, "Expected String at SELF, found Int"),
            Row("String", Data([1]), "Expected String at SELF, found Data"),
            Row("String(2...3)", "a", "Expected 2...3 characters at SELF, found 1"),
            Row("Data(2)", Data([1]), "Expected 2 bytes at SELF, found 1"),
            Row("[Int](1...2)", [Int](), "Expected 1...2 elements at SELF, found 0"),
            Row("Date", 1, "Expected Date at SELF, found Int"),
            Row("[Int]", ["a": 1], "Expected Array<Any> at SELF, found Dictionary<String, Any>"),
            Row("[String: Int]", [1], "Expected Dictionary<String, Any> at SELF, found Array<Any>"),
            Row("[[Int]]", [[1], [2, "x"]], "Expected BinaryInteger at SELF[1][1], found String"),
            Row("[String: [Int]]", ["a b": [true]], "Expected BinaryInteger at SELF.a b[0], found Bool"),
            Row("Window", ["tags": [Int]()], "Dictionary does not contain key SELF.width"),
            Row("[Window]", [["width": 1], [:]], "Dictionary does not contain key SELF[1].width"),
            Row("Window", ["width": 1, "window_title": 5], "Expected String at SELF.window_title, found Int"),
            Row("Window", 5, "Expected Dictionary<String, Any> at SELF, found Int"),
            Row("Window", ["width": 1, "theme": "blue"], "Expected light or dark at SELF.theme, found \"blue\""),
            Row("Window", ["width": "$null"], "Expected BinaryInteger at SELF.width, found String"),
            Row("Decimal", "1x", "Expected Decimal at SELF, found \"1x\""),
            Row("UUID", "1", "Expected UUID at SELF, found \"1\""), Row("URL", "", "Expected URL at SELF, found \"\""),
            Row("Int", Int?.none as Any, "Expected BinaryInteger at SELF, found nil"),
            Row("Any", Int?.none as Any, "Expected Any at SELF, found nil"),
        ])
    func refuses(_ row: Row) throws {
        let type = try makeType(row.text, window)
        let value = try tree(row.given)
        let error = typeError { _ = try type.decode(value) }
        #expect(error?.message(firstIndex: 0, root: "SELF") == row.wanted as? String)
        #expect(error?.isAboutType == false)
    }

    @Test("places errors below the given path, with indexes counted as the language does")
    func placesErrors() throws {
        let type = try makeType("[Window]", window)
        let value = try tree([["width": 1, "tags": ["a", 5]]])
        let error = typeError { _ = try type.decode(value, at: ["windows"]) }
        #expect(error?.path == ["windows", 0, "tags", 1])
        #expect(error?.code == .mismatch)
        #expect(error?.message(firstIndex: 1) == "Expected String at windows[1].tags[2], found Int")
    }

    @Test("gives a value whose two forms are the same as it is")
    func sharesDocuments() throws {
        let stored = try tree(["a": ["b": [1, 2]]])
        let decoded = try makeType("[String: [String: [Int]]]").decode(stored)
        #expect(decoded == stored)
    }

    @Test("takes time in proportion to hostile depth and size, and no stack")
    func decodesHostileValues() throws {
        let type = try makeType("A", "struct A { a: A?; b: [A] = []; c: [String: A] = [:] }")
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: 2048))
        for _ in 0..<1024 {
            try builder.beginDictionary()
            try builder.key("a")
            try builder.beginDictionary()
            try builder.key("a")
        }
        try builder.append(integer: 1)
        for _ in 0..<2048 { try builder.end() }
        let deep = try builder.finish()
        let error = typeError { _ = try type.decode(deep) }
        #expect(error?.path.steps.count == 512)
        #expect(error?.subject == "Deeper than 512 levels")
        let all = try makeType("Any").decode(deep)
        #expect(all == deep)
        let endless = try makeType("B", "struct B { b: B }")
        #expect(typeError { _ = try endless.decode(try tree(["b": ["b": [:]]])) }?.path == ["b", "b"])
    }
}
