import CodableTypes
import Foundation
import PropertyLists
import Testing

@Suite struct DecodingTests {
    struct Row: CustomTestStringConvertible, @unchecked Sendable {
        let type: String
        let stored: Any?
        let result: Any?
        init(_ type: String, _ stored: Any?, _ result: Any?) {
            (self.type, self.stored, self.result) = (type, stored, result)
        }
        var testDescription: String { "\(type) from \(stored ?? "nil")" }
    }

    static let accepted: [Row] = [
        Row("Bool", true, true), Row("Int", 5, 5), Row("Int", 2.0, 2), Row("UInt64", UInt64.max, UInt64.max),
        Row("UInt64", 1e19, UInt64(1e19)), Row("Int8", -128, -128), Row("Double", 5, 5.0), Row("Double", 0.5, 0.5),
        Row("Double", UInt64.max, 18446744073709551615.0), Row("Float", 0.1, Double(Float(0.1))),
        Row("String", "x", "x"), Row("String(1...3)", "äöü", "äöü"), Row("Data", Data([1]), Data([1])),
        Row("Date", Date(timeIntervalSinceReferenceDate: 1.5), Date(timeIntervalSinceReferenceDate: 1.5)),
        Row("Decimal", "12345678901234567.25", "12345678901234567.25"), Row("Decimal", 3, "3"),
        Row("Decimal", 0.1, "0.1"), Row("URL", "http://a.b/c", "http://a.b/c"),
        Row("UUID", "e621e1f8-c36c-495a-93fc-0c247a3e6e5f", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
        Row("Duration", [0, 1_000_000_000], [0, 1_000_000_000]), Row("Any", ["a": [1, true]], ["a": [1, true]]),
        Row("[Int]", [1, 2.0], [1, 2]), Row("[Int?]", [1, "$null"], [1, nil] as [Int?]), Row("Int?", nil, nil),
        Row("[String: Int]", ["b": 2, "a": 1], ["b": 2, "a": 1]), Row("[Int](2...3)", [1, 2], [1, 2]),
        Row("Theme", "light", "light"), Row("Level", 10.0, 10), Row("Int(1...5)?", 5, 5),
        Row("Double(0...1)", 1, 1.0),
        Row("Window", ["width": 5], ["width": 5, "tags": [], "theme": "dark"] as [String: Any]),
        Row(
            "Window", ["width": 5, "window_title": "T", "future": 1, "tags": ["a"], "theme": "light"] as [String: Any],
            ["width": 5, "title": "T", "tags": ["a"], "theme": "light"] as [String: Any]),
        Row(
            "Shape", ["name": "n", "points": [], "label": "$null"] as [String: Any],
            ["name": "n", "points": []] as [String: Any]),
        Row(
            "Shape", ["name": "n", "points": [], "label": Int?.none as Any] as [String: Any],
            ["name": "n", "points": []] as [String: Any]),
        Row(
            "Node", ["value": 1, "children": [["value": 2.0]]] as [String: Any],
            ["value": 1, "children": [["value": 2]]] as [String: Any]),
    ]

    @Test("accepts, and gives the program form", arguments: accepted)
    func accepts(_ row: Row) throws {
        let type = try sampleRegistry().type(row.type)
        #expect(try type.decode(try tree(row.stored)) == tree(row.result))
    }

    static var rejected: [(String, Any?, TypeError.Code, String)] {
        [
            ("Bool", 1, .mismatch, "Expected Bool at SELF, found Int"),
            ("Int", true, .mismatch, "Expected BinaryInteger at SELF, found Bool"),
            ("Int", 1.5, .notRepresentable, "Double at SELF, cannot be exactly represented by Int"),
            ("UInt8", 256, .notRepresentable, "Int at SELF, cannot be exactly represented by UInt8"),
            ("Int", Double.nan, .notRepresentable, "Double at SELF, cannot be exactly represented by Int"),
            ("String", 5, .mismatch, "Expected String at SELF, found Int"),
            ("[String]", ["a", true] as [Any], .mismatch, "Expected String at SELF[1], found Bool"),
            ("[Int]", ["a": 1], .mismatch, "Expected Array<Any> at SELF, found Dictionary<String, Any>"),
            ("Window", [1], .mismatch, "Expected Dictionary<String, Any> at SELF, found Array<Any>"),
            ("Window", [String: Int](), .missingField, "Dictionary does not contain key SELF.width"),
            ("[Window]", [["width": 1], ["title": 1]], .missingField, "Dictionary does not contain key SELF[1].width"),
            ("Window", ["width": 5, "window_title": 1], .mismatch, "Expected String at SELF.window_title, found Int"),
            ("Int(1...16384)", 0, .notRepresentable, "Expected 1...16384 at SELF, found 0"),
            ("String(1...2)", "abc", .notRepresentable, "Expected 1...2 characters at SELF, found 3"),
            ("Data(4)", Data([1]), .notRepresentable, "Expected 4 bytes at SELF, found 1"),
            ("[Int](2...3)", [1], .notRepresentable, "Expected 2...3 elements at SELF, found 1"),
            ("Int", nil, .mismatch, "Expected BinaryInteger at SELF, found nil"),
        ]
    }

    @Test("rejects, with code and message", arguments: rejected.indices)
    func rejects(_ index: Int) throws {
        let (type, stored, code, message) = Self.rejected[index]
        let registry = try sampleRegistry()
        let error = try typeError { _ = try registry.type(type).decode(try tree(stored)) }
        #expect(error.code == code)
        #expect(error.message(firstIndex: 0, root: "SELF") == message)
    }

    @Test("an error has the path of the value, after the one it was asked at, and indexes from 1 for Lua")
    func errorPath() throws {
        let type = try sampleRegistry().type("[Window]")
        let stored = try tree([["width": 1, "tags": ["a", 5] as [Any]] as [String: Any]])
        let error = try typeError { _ = try type.decode(stored, at: ["windows"]) }
        #expect(error.path == ["windows", 0, "tags", 1])
        #expect(error.message(firstIndex: 1) == "Expected String at windows[1].tags[2], found Int")
    }
}
