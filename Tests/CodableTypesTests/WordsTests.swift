import CodableTypes
import PropertyLists
import Testing

/// What C and Lua are told, which have no Swift types.
@Suite struct WordsTests {
    @Test(
        "errors are told in the words of the type language",
        arguments: [
            ("Int8", "x", "Expected Int at v, found String"),
            ("[Int]", ["a": 1], "Expected Array at v, found Dictionary"),
            ("Window", [1], "Expected Dictionary at v, found Array"),
            ("String", PropertyListUID(1), "Expected String at v, found UID"),
            ("Int8", 300, "Int at v, cannot be exactly represented by Int8"),
            ("Window", [String: Int](), "Dictionary does not contain key v.width"),
            ("Int", UInt64.max, "UInt64 at v, cannot be exactly represented by Int"),
        ] as [(String, any Sendable, String)])
    func words(type: String, value: any Sendable, message: String) throws {
        let type = try sampleRegistry().type(type)
        let error = try typeError { _ = try type.decode(try tree(value), at: ["v"]) }
        #expect(error.inTypeLanguage.message(firstIndex: 0) == message)
        #expect(error.inTypeLanguage.path == error.path)
    }

    @Test(
        "the words of a type that is wrong",
        arguments: [
            ("struct A { x: Int = \"a\" }", "Expected Int, found String (line 1, column 21)"),
            ("struct A { x: [String: Int] = [1] }", "Expected Dictionary, found Array (line 1, column 31)"),
            ("struct A { x: [Int] = [1, true] }", "Expected Int at [1], found Bool (line 1, column 23)"),
        ])
    func typeText(text: String, message: String) throws {
        let error = try typeError { _ = try TypeRegistry().declare(text) }
        #expect(error.inTypeLanguage.description == message)
    }

    @Test("a registered Swift type speaks the same words")
    func registered() throws {
        struct Frame: Codable { var sizes: [Int], names: [String: String] }
        let registry = TypeRegistry()
        try registry.register(Frame.self, as: "Frame")
        let type = try registry.type("Frame")
        for (value, message) in [
            (["sizes": 1, "names": [String: String]()], "Expected Array at sizes, found Int"),
            (["sizes": [1], "names": [1]], "Expected Dictionary at names, found Array"),
            (["sizes": ["x"], "names": [String: String]()], "Expected Int at sizes[0], found String"),
        ] as [([String: Any], String)] {
            let error = try typeError { _ = try type.decode(try tree(value)) }
            #expect(error.inTypeLanguage.description == message)
        }
    }
}
