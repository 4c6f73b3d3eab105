import CodableTypes
import Foundation
import PropertyLists
import TestSupport
import Testing

/// JSON Schemas. That they agree with the types is shown by another's validator, over the values that
/// ``writesCases()`` makes: `Tests/suites/json_schema.py`.
@Suite("JSON Schemas") struct JSONSchemaTests {
    private func schema(_ expression: String, _ declarations: String = "") throws -> String {
        let registry = TypeRegistry()
        try registry.declare(declarations)
        let schema = try registry.type(expression).jsonSchema()
        #expect(schema["$schema"]?.string == "https://json-schema.org/draft/2020-12/schema")
        let rest = try #require(try schema.removing(at: ["$schema"]))
        return try String(decoding: rest.serialized(as: .json), as: UTF8.self)
    }

    @Test(
        "say what a built-in type takes",
        arguments: [
            ("Bool", #"{"type":"boolean"}"#), ("UInt8(...9)", #"{"maximum":9,"minimum":0,"type":"integer"}"#),
            ("UInt64", #"{"maximum":18446744073709551615,"minimum":0,"type":"integer"}"#),
            ("Double(0..<1)", #"{"exclusiveMaximum":1.0,"minimum":0.0,"type":"number"}"#),
            (
                "Float",
                #"{"anyOf":[{"exclusiveMaximum":3.4028235677973366e+38,"exclusiveMinimum":-3.4028235677973366e+38,"#
                    + #""type":"number"},{"additionalProperties":false,"properties":{"$real":{"enum":["-inf","inf","nan"]}},"#
                    + #""required":["$real"],"type":"object"}]}"#
            ),
            ("String(1...80)", #"{"maxLength":80,"minLength":1,"type":"string"}"#),
            (
                "[Int8](2...)",
                #"{"items":{"maximum":127,"minimum":-128,"type":"integer"},"minItems":2,"type":"array"}"#
            ),
            ("[String: Any]", #"{"additionalProperties":{"not":{"type":"null"}},"type":"object"}"#),
            ("Bool?", #"{"anyOf":[{"type":"boolean"},{"enum":[null,"$null"]}]}"#),
            ("Int8(1000...)", #"{"not":{}}"#),
        ])
    func sayTypes(_ expression: String, _ text: String) throws {
        #expect(try schema(expression) == text)
    }

    @Test("say what a declared type takes, with words and defaults")
    func sayDeclaredTypes() throws {
        let declarations = """
            /// A window. On the screen.
            struct W {
                /// In pixels.
                width: Int8 @key(w) @deprecated("use size") = 5
                token: String @secret
                next: W?
                theme: Theme? = dark
                scratch: Any @transient
            }
            enum Theme: String { light, dark = "DARK" }
            """
        #expect(
            try schema("W", declarations) == """
                {"$defs":{"Theme":{"enum":["light","DARK"]},"W":{"description":"A window. On the screen.",\
                "properties":{"next":{"anyOf":[{"$ref":"#/$defs/W"},{"enum":[null,"$null"]}]},\
                "theme":{"anyOf":[{"$ref":"#/$defs/Theme"},{"enum":[null,"$null"]}],"default":"DARK"},\
                "token":{"type":"string","writeOnly":true},\
                "w":{"default":5,"deprecated":true,"description":"In pixels.\\n\\nDeprecated: use size",\
                "maximum":127,"minimum":-128,"title":"In pixels.","type":"integer"}},\
                "required":["token"],"title":"A window.","type":"object"}},"$ref":"#/$defs/W"}
                """)
        #expect(
            try schema("V", "enum V { /// One.\n one(x: Bool), two }") == """
                {"$defs":{"V":{"oneOf":[{"required":["one"]},{"required":["two"]}],"properties":{\
                "one":{"description":"One.","properties":{"x":{"type":"boolean"}},"required":["x"],"title":"One.",\
                "type":"object"},"two":{"properties":{},"type":"object"}},"type":"object"}},"$ref":"#/$defs/V"}
                """)
    }

    @Test("tell types of one name apart")
    func tellNamesApart() throws {
        let registry = TypeRegistry(redeclaration: .replaces)
        try registry.declare("struct P { x: Bool }")
        try registry.declare("struct Q { p: P }")
        let old = try registry.type("Q")
        try registry.declare("struct P { y: Bool }")
        let both = try registry.declare("struct Both { q: Q; p: P }")[0]
        #expect(old == (try registry.type("Q")))
        let definitions = try both.jsonSchema()["$defs"]
        #expect(definitions?["P"]?["required"]?[0]?.string == "y")
        #expect(definitions?["P 2"]?["required"]?[0]?.string == "x")
        #expect(definitions?["Q"]?["properties"]?["p"]?["$ref"]?.string == "#/$defs/P%202")
        #expect(both.schemaText == nil)
    }

    // MARK: - Cases for a validator

    /// Lines of JSON: a schema, a value, why the type refuses it, null where it accepts it, and the type's text. Written
    /// where `KVCODABLE_SCHEMA_CASES` names a file.
    @Test("are written with generated values, for another's validator")
    func writesCases() throws {
        var generator = CaseGenerator(seed: 19)
        var lines: [String] = []
        var accepted = 0
        for number in 0..<300 {
            let (type, text) = try generator.type(number)
            let schema = try String(decoding: type.jsonSchema().serialized(as: .json), as: UTF8.self)
            for _ in 0..<30 {
                let value = generator.value(of: type)
                let refusal = Self.refusal(of: value, by: type)
                accepted += refusal == nil ? 1 : 0
                let json = try String(decoding: value.jsonForm().serialized(as: .json), as: UTF8.self)
                let words = try [text, refusal].map { words in
                    try String(decoding: (words.map { PropertyList($0) } ?? .null).serialized(as: .json), as: UTF8.self)
                }
                lines.append(#"{"schema":\#(schema),"value":\#(json),"type":\#(words[0]),"refusal":\#(words[1])}"#)
            }
        }
        // Neither of the two is rare.
        #expect(accepted > lines.count / 5)
        #expect(accepted < lines.count * 4 / 5)
        guard let file = ProcessInfo.processInfo.environment["KVCODABLE_SCHEMA_CASES"] else { return }
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
    }

    private static func refusal(of value: PropertyList, by type: CodableType) -> String? {
        do throws(TypeError) {
            _ = try type.decode(value)
            return nil
        } catch {
            return error.inTypeLanguage.message(firstIndex: 0, root: "")
        }
    }
}

/// Types of every kind, and values that are often of them.
private struct CaseGenerator {
    private var numbers: SeededGenerator

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }

    private mutating func any<Element>(_ list: [Element]) -> Element { list[below(list.count)] }

    mutating func type(_ number: Int) throws -> (CodableType, String) {
        var text = "enum Theme: String { light, dark = \"DARK\" }\nenum Level: Int { low, high = 10 }\n"
        text += "struct Node { value: \(scalar()); next: Node?; children: [Node] = [] }\n"
        text += "enum Shape { circle(radius: \(expression(depth: 1))), square(Int = 3), maybe(x: Bool?), empty }\n"
        let fields = (0..<(1 + below(4))).map { index in
            "f\(index): \(expression(depth: 2))" + any(["", "", " @key(\"the key \(index)\")"])
        }
        text += "struct Root { \(fields.joined(separator: "; ")); last: UInt8(1...9) = 5 }\n"
        let root = number % 3 == 0 ? expression(depth: 2) : "Root"
        let registry = TypeRegistry()
        try registry.declare(text)
        return (try registry.type(root), text + root)
    }

    private mutating func scalar() -> String { any(Self.scalars) }

    private static let scalars = [
        "Bool", "Int", "Int8", "Int16(-5...5)", "Int32", "UInt8", "UInt16", "UInt64", "UInt128", "Int(1...)",
        "Float",
        "Float(0...0.1)", "Float(0..<1)", "Double", "Double(0..<1)", "Double(1...)", "Double(...0)", "Decimal",
        "String", "String(1...3)", "Data", "Data(4)", "Data(...5)", "Date", "URL", "UUID", "Duration", "UID", "Any",
        "Theme", "Level",
    ]

    private mutating func expression(depth: Int) -> String {
        guard depth > 0 else { return any(Self.scalars + ["Shape", "Node"]) }
        switch below(8) {
        case 0: return "[\(expression(depth: depth - 1))]" + any(["", "(1...2)"])
        case 1: return "[String: \(expression(depth: depth - 1))]"
        case 2, 3: return expression(depth: depth - 1) + "?"
        default: return any(Self.scalars + ["Shape", "Node"])
        }
    }

    /// A value of the type, where it can be, but for one part in a dozen.
    mutating func value(of type: CodableType, depth: Int = 0) -> PropertyList {
        guard depth < 6, below(12) > 0 else { return stray() }
        if type.description.hasSuffix("?"), below(3) == 0 { return any([PropertyList.null, "$null"]) }
        let core = type.wrapped
        if !core.cases.isEmpty { return value(ofCase: any(core.cases), depth) }
        if !core.members.isEmpty {
            let present = core.members.filter { !$0.mayBeAbsent || below(2) == 0 }
            var entries = present.map { ($0.key, value(of: $0.type, depth: depth + 1)) }
            if below(6) == 0 { entries.append(("unknown", stray())) }
            return PropertyList(Dictionary(entries) { first, _ in first })
        }
        if let element = core.element {
            let values = (0..<below(4)).map { _ in value(of: element, depth: depth + 1) }
            guard core.description.hasPrefix("[String:") else { return PropertyList(values) }
            return PropertyList(Dictionary(values.enumerated().map { ("k\($0)", $1) }) { first, _ in first })
        }
        return scalar(core.description)
    }

    private mutating func value(ofCase one: CodableType.Case, _ depth: Int) -> PropertyList {
        if let raw = one.rawValue { return raw }
        let values = one.members.map { ($0.key, value(of: $0.type, depth: depth + 1)) }
        var entries = [one.name: PropertyList(Dictionary(values) { first, _ in first })]
        if below(8) == 0 { entries[any(["empty", "square", "other"])] = [:] }
        return PropertyList(entries)
    }

    private mutating func scalar(_ name: String) -> PropertyList {
        switch name.prefix(while: { $0 != "(" }) {
        case "Bool": return PropertyList(below(2) == 0)
        case "Float", "Double": return real()
        case "Decimal":
            return below(3) == 0
                ? real() : PropertyList(any(["1.50", "-7", "1e3", "NaN", "abc", "", "1.2.3", "+5", ".5", "5."]))
        case "String": return PropertyList(any(["", "a", "abc", "abcd", "é\u{301}x", "$null"]))
        case "Data": return PropertyList(Data((0..<below(8)).map { UInt8($0) }))
        case "Date": return PropertyList(Date(timeIntervalSinceReferenceDate: Double(below(1000)) / 4))
        case "URL": return PropertyList(any(["http://a.b/c", "relative", "", "a b", "%"]))
        case "UUID":
            return PropertyList(
                any(["E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "e621e1f8-c36c-495a-93fc-0c247a3e6e5f", "E621"]))
        case "Duration": return any([[1, 2], [1, 2, "more"], [1], [-1, 5], [1, -5]])
        case "UID": return PropertyList(PropertyListUID(UInt32(below(9))))
        default: return integer()
        }
    }

    private mutating func real() -> PropertyList {
        any([
            0, 0.5, 1, 1.5, -1, 0.1, 0.10000000149011612, 0.10000000149011613, 3.4e38, 3.5e38, -1e300, PropertyList(5),
            PropertyList(Double.infinity), PropertyList(-Double.infinity), PropertyList(Double.nan),
            PropertyList(Double(below(1000)) / 7),
        ])
    }

    private mutating func integer() -> PropertyList {
        any([
            0, 1, 5, -5, 6, 127, 128, 255, 256, 65535, 65536, 2.0, 2.5, PropertyList(Int64.max),
            PropertyList(Int64.min),
            PropertyList(UInt64.max), 1e19, 1e20, PropertyList(below(1000)),
        ])
    }

    private mutating func stray() -> PropertyList {
        any([
            .null, true, 0, -1, 300, 1.5, "text", "$null", "DARK", [], [1], [:], ["x": 1], ["circle": [:]],
            PropertyList(Date(timeIntervalSinceReferenceDate: 5)), PropertyList(Data([1])),
            PropertyList(PropertyListUID(3)),
        ])
    }
}
