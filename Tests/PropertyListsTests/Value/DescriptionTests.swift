import Foundation
import PropertyLists
import Testing

/// The text of a value that is printed for a person.
@Suite struct DescriptionTests {
    /// The values are never changed.
    struct Row: @unchecked Sendable, CustomTestStringConvertible {
        let value: Any
        let text: String

        init(_ value: Any, _ text: String) { (self.value, self.text) = (value, text) }

        var testDescription: String { text }
    }

    @Test(
        "a value is described in Swift's spelling",
        arguments: [
            Row(5, "5"), Row(UInt64.max, "18446744073709551615"), Row(1.5, "1.5"), Row(Double.infinity, "inf"),
            Row(true, "true"), Row("a\"b\n", #""a\"b\n""#), Row(Data([1, 2, 3]), "data(3 bytes)"),
            Row(PropertyListUID(7), "UID(7)"),
            Row(Date(timeIntervalSinceReferenceDate: 61.5), "2001-01-01T00:01:01Z"),
            Row(Date(timeIntervalSinceReferenceDate: 1e18), "date(1e+18)"), Row([Any](), "[]"),
            Row([String: Any](), "[:]"), Row([1, [2, [Any]()], 3] as [Any], "[1, [2, []], 3]"),
            Row(
                ["b": ["c": [1], "d": [String: Any]()], "a": ["x"], "é.\u{1}": false] as [String: Any],
                #"["a": ["x"], "b": ["c": [1], "d": [:]], "é.\u{01}": false]"#),
        ])
    func describes(row: Row) throws {
        #expect(try PropertyList(any: row.value).description == row.text)
    }

    @Test("null is nil, a part is described by itself")
    func parts() throws {
        let list = try PropertyList(any: ["a": [1, nil, "x"] as [Any?]] as [String: Any])
        #expect("\(list)" == #"["a": [1, nil, "x"]]"#)
        #expect(list.value(at: ["a"])?.description == #"[1, nil, "x"]"#)
        #expect(list.value(at: ["a", 2])?.description == #""x""#)
    }

    @Test("a large value is described by its beginning, cut between characters")
    func large() throws {
        let many = try PropertyList(any: Array(0..<1_000_000)).description
        #expect(many.hasPrefix("[0, 1, 2, "))
        #expect(many.hasSuffix("…"))
        #expect(many.utf8.count < 1_100)
        let long = try PropertyList(any: ["a" + String(repeating: "ü", count: 100_000)]).description
        #expect(long == "[\"a" + String(repeating: "ü", count: 499) + "…\"]")
        let thousand = String(repeating: "x", count: 1_000)
        #expect(try PropertyList(any: thousand).description == "\"\(thousand)\"")
        let two = try PropertyList(any: [String(repeating: "x", count: 997), "y"]).description
        #expect(two == "[\"" + String(repeating: "x", count: 997) + "\"…")
        var deep: Any = 1
        for _ in 0..<500 { deep = [deep] }
        #expect(try PropertyList(any: deep).description.count == 1_001)
    }
}
