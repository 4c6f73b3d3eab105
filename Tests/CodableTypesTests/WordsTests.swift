import CodableTypes
import Foundation
import PropertyLists
import Testing

/// Errors as C and Lua get them, which have no Swift types.
@Suite struct WordsTests {
    @Test(
        "errors are told in the words of the type language",
        arguments: [
            ("Int8", "x", "Expected Int at v, found String"),
            ("[Int]", ["a": 1], "Expected Array at v, found Dictionary"),
            ("Window", [1], "Expected Dictionary at v, found Array"),
            ("String", PropertyListUID(1), "Expected String at v, found UID"),
            ("Int8", 300, "Expected Int8 at v, found 300"), ("UInt8", -1, "Expected UInt8 at v, found -1"),
            ("Int", 1.5, "Expected Int at v, found 1.5"), ("UUID", "x", "Expected UUID at v, found \"x\""),
            ("Window", [String: Int](), "Expected Int(1...16384) at v.width, found nothing"),
            ("Duration", [1], "Expected a value at v[1], found nothing"),
            ("Int", UInt64.max, "Expected Int at v, found 18446744073709551615"),
        ] as [(String, any Sendable, String)])
    func words(type: String, value: any Sendable, message: String) throws {
        let type = try sampleRegistry().type(type)
        let error = try typeError { _ = try type.decode(try tree(value), at: ["v"]) }
        #expect(error.inTypeLanguage.message(firstIndex: 0) == message)
        #expect(error.inTypeLanguage.path == error.path)
    }

    @Test(
        "the error of an enum lists its cases, and says which was meant",
        arguments: [
            ("nothing", "Expected compact or wide at tags[0].layout, found \"nothing\""),
            ("wid", "Expected compact or wide at tags[0].layout, found \"wid\"; did you mean wide?"),
            (5, "Expected compact or wide at tags[0].layout, found 5"),
        ] as [(any Sendable, String)])
    func enums(value: any Sendable, message: String) throws {
        let registry = TypeRegistry()
        try registry.declare("enum Layout: String { compact, wide } struct Tag { layout: Layout }")
        let type = try registry.type("[Tag]")
        let error = try typeError { _ = try type.decode(try tree([["layout": value]]), at: ["tags"]) }
        #expect(error.inTypeLanguage.description == message)
    }

    @Test("the error of an enum of numbers, and of many cases")
    func otherEnums() throws {
        let registry = TypeRegistry()
        let many = (0..<40).map { "case\($0)" }.joined(separator: ", ")
        try registry.declare("enum Level: Int { low, mid = 5, high = 10 } enum Many: String { \(many) }")
        func words(_ name: String, _ value: Any) throws -> String {
            try typeError { _ = try registry.type(name).decode(try tree(value)) }.inTypeLanguage.description
        }
        #expect(try words("Level", 3) == "Expected 0, 5 or 10, found 3")
        let few = (0..<12).map { "case\($0)" }.joined(separator: ", ")
        #expect(try words("Many", "other") == "Expected \(few) or one of 28 more, found \"other\"")
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
        enum Layout: String, Codable { case compact, wide }
        struct Frame: Codable { var sizes: [Int], names: [String: String], layout: Layout?, id: UUID?, small: Int8? }
        let registry = TypeRegistry()
        try registry.register(Frame.self, as: "Frame")
        let type = try registry.type("Frame")
        for (value, message) in [
            (["sizes": 1, "names": [String: String]()], "Expected Array at sizes, found Int"),
            (["sizes": [1], "names": [1]], "Expected Dictionary at names, found Array"),
            (["sizes": ["x"], "names": [String: String]()], "Expected Int at sizes[0], found String"),
            (
                ["sizes": [1], "names": [String: String](), "layout": "nothing"],
                "Cannot initialize Layout from invalid String value nothing at layout"
            ),
            (
                ["sizes": [1], "names": [String: String](), "id": "x"],
                "Attempted to decode UUID from invalid UUID string at id"
            ),
            (
                ["sizes": [1], "names": [String: String](), "small": 300],
                "Int at small, cannot be exactly represented by Int8"
            ),
        ] as [([String: Any], String)] {
            let error = try typeError { _ = try type.decode(try tree(value)) }
            #expect(error.inTypeLanguage.description == message)
        }
    }
}
