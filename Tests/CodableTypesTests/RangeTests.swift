import CodableTypes
import PropertyLists
import Testing

@Suite("Ranges and lengths") struct RangeTests {
    /// An expression, its printed form, values of the type, and others.
    struct Row: CustomTestStringConvertible, @unchecked Sendable {
        let text: String
        let printed: String
        let inside: [Any]
        let outside: [Any]
        var testDescription: String { text }

        init(_ text: String, printed: String? = nil, _ inside: [Any], _ outside: [Any]) {
            (self.text, self.printed, self.inside, self.outside) = (text, printed ?? text, inside, outside)
        }
    }

    static let rows = [
        Row("Int(1...10)", [1, 10, 2.0], [0, 11, 0.0]),
        Row("Int(0..<10)", printed: "Int(0...9)", [0, 9], [-1, 10]),
        Row("Int(1...)", [1, Int.max], [0, Int.min, UInt64.max]),
        Row("Int(...10)", [10, Int.min], [11]), Row("Int(..<10)", printed: "Int(...9)", [9], [10]),
        Row("Int8(5)", printed: "Int8(5...5)", [5], [4, 6]),
        Row("UInt64(1...)", [1, UInt64.max], [0, -1]),
        Row("UInt64(...18446744073709551614)", [0, UInt64.max - 1], [UInt64.max, -1]),
        Row("UInt64(9223372036854775808...)", [UInt64.max, UInt64(Int64.max) + 1], [5, Int64.max]),
        Row("Int128(-5...5)", [-5, 5], [-6, UInt64.max]),
        Row("Double(0..<1)", printed: "Double(0.0..<1.0)", [0, 0.0, 0.999], [1, 1.0, -0.1, Double.nan]),
        Row("Double(0.5...1.5)", [0.5, 1.5, 1], [0.4, 1.6, Double.infinity]),
        Row("Double(0...)", printed: "Double(0.0...)", [0, 1e300, Double.infinity], [-1e-300, Double.nan]),
        Row("Double(...0)", printed: "Double(...0.0)", [0, -1e300, -Double.infinity], [1e-300, Double.nan]),
        Row("Double(..<0)", printed: "Double(..<0.0)", [-1e-300], [0, Double.nan]),
        Row("Float(..<1)", printed: "Float(..<1.0)", [0.5, 0.9999], [1.0, 0.99999999999]),
        Row("String(1...)", ["a", "äöü"], [""]), Row("String(...3)", ["", "äöü"], ["abcd"]),
        Row("String(2)", printed: "String(2...2)", ["ab", "🇩🇪"], ["a", "abc"]),
        Row(
            "Data(1..<3)", printed: "Data(1...2)", [Bytes(count: 2)],
            [Bytes(count: 0), Bytes(count: 3)]),
        Row("[Int](1...)", [[1]], [[Int]()]),
        Row("[[Int](...2)](...1)", [[[1, 2]], [[Int]]()], [[[1, 2, 3]], [[1], [1]]]),
    ]

    /// Data of so many bytes.
    struct Bytes { var count: Int }

    private func list(_ value: Any) throws -> PropertyList {
        guard let bytes = value as? Bytes else { return try tree(value) }
        var builder = PropertyListBuilder()
        try builder.append(data: Array(repeating: 7, count: bytes.count))
        return try builder.finish()
    }

    @Test("hold and refuse, alone and in a struct", arguments: rows)
    func bounds(_ row: Row) throws {
        let registry = TypeRegistry()
        let type = try registry.type(row.text)
        #expect(type.description == row.printed)
        #expect(try registry.type(row.printed) == type)
        let held = try #require(try registry.declare("struct S { a: \(row.text); b: Int = 1 }").first)
        for value in row.inside {
            #expect(throws: Never.self) { try type.encode(try type.decode(try list(value))) }
            let stored = try PropertyList.emptyDictionary.setting(try list(value), at: ["a"])
            #expect(throws: Never.self) { try held.encode(try held.decode(stored)) }
        }
        for value in row.outside {
            let error = try typeError { _ = try type.decode(try list(value)) }
            #expect(error.code == .notRepresentable, "\(value)")
            #expect(try typeError { _ = try type.encode(try list(value)) } == error)
            let stored = try PropertyList.emptyDictionary.setting(try list(value), at: ["a"])
            #expect(try typeError { _ = try held.decode(stored) }.path.steps.first == .key("a"))
        }
    }

    @Test(
        "the messages name the range",
        arguments: [
            ("Int(1...)", 0, "Expected 1..., found 0"), ("Int(...10)", 11, "Expected ...10, found 11"),
            ("Double(0..<1)", 1, "Expected 0.0..<1.0, found 1.0"),
            ("UInt8(3...)", 300, "Int, cannot be exactly represented by UInt8"),
        ])
    func messages(_ text: String, _ value: Int, _ message: String) throws {
        let type = try TypeRegistry().type(text)
        #expect(try typeError { _ = try type.decode(try tree(value)) }.description == message)
    }

    @Test(
        "a wrong range is an error at its column",
        arguments: [
            ("Int()", 5, "Expected a range such as 1...10, found \")\""),
            ("Int(...)", 5, "Expected a range with a number in it, found \".\""),
            ("Int(10...1)", 5, "Expected a range with a number in it, found \"10\""),
            ("Int(1..<1)", 5, "Expected a range with a number in it, found \"1\""),
            ("Int(1.5...2)", 5, "Expected a whole number, found \"1.5\""),
            ("Int(1...2", 10, "Expected \")\", found the end"),
            ("Double(0...1e999)", 12, "Expected a number that Double holds, found \"1e999\""),
            ("Double(..<)", 11, "Expected a number, found \")\""),
            ("String(-1...)", 8, "Expected a length, found \"-\""),
            ("Bool(1)", 5, "Expected the end of the type, found \"(\""),
            ("[Int](1...2", 12, "Expected \")\", found the end"),
        ])
    func wrong(_ text: String, _ column: Int, _ message: String) throws {
        let error = try typeError { _ = try TypeRegistry().type(text) }
        #expect(error.description == "\(message) (line 1, column \(column))")
        #expect(error.location == .line(1, column: column))
    }

    @Test(
        "a number that Double does not hold is no default",
        arguments: [("1e999", 20), ("-1e999", 20), ("[1, 1e400]", 24), ("date(1e999)", 25)])
    func infinite(_ literal: String, _ column: Int) throws {
        let error = try typeError { try TypeRegistry().declare("struct A { a: Any= \(literal) }") }
        #expect(error.code == .syntax)
        #expect(error.location == .line(1, column: column))
    }

    @Test("described by trees, as texts and as arrays")
    func described() throws {
        let rows: [(String, String, Any, String)] = [
            ("Int", "range", [1, 5], "Int(1...5)"), ("Int", "range", "1...", "Int(1...)"),
            ("Double", "range", "0..<1", "Double(0..<1)"), ("Double", "range", [0, 1.5] as [Any], "Double(0...1.5)"),
            ("String", "length", "...3", "String(...3)"), ("Data", "length", [2, 2], "Data(2)"),
        ]
        let registry = TypeRegistry()
        for (kind, key, range, text) in rows {
            let type = try registry.declare(description: try tree(["kind": kind, key: range] as [String: Any]))
            #expect(try type == registry.type(text))
        }
        let array = try registry.declare(
            description: try tree(["kind": "array", "element": "Int", "length": "1..."] as [String: Any]))
        #expect(try array == registry.type("[Int](1...)"))
        let error = try typeError {
            try registry.declare(description: try tree(["kind": "Int", "range": "1...x"] as [String: Any]))
        }
        #expect(error.path == ["range"])
        #expect(error.description == "Expected the end of the range at range, found \"x\" (line 1, column 5)")
    }
}
