import CodableTypes
import PropertyLists
import Testing

@Suite("Types as trees") struct TypeDescriptionTests {
    @Test(
        "a description means what the text means",
        arguments: [
            Row("Int", "Int", ""), Row("[Int]", ["kind": "array", "element": "Int"], ""),
            Row("[Int](1...2)", ["kind": "array", "element": "Int", "length": [1, 2]], ""),
            Row("[String: Int]?", ["kind": "optional", "wrapped": ["kind": "dictionary", "value": "Int"]], ""),
            Row("Int(1...5)", ["kind": "Int", "range": [1, 5]], ""),
            Row("Double(1.0...2.5)", ["kind": "Double", "range": [1, 2.5]], ""),
            Row("String(2...2)", ["kind": "String", "length": [2, 2]], ""),
            Row("Any", "Any", ""),
        ])
    func readsExpressions(_ row: Row) throws {
        let type = try TypeRegistry().declare(description: tree(row.given))
        #expect(type.description == row.text)
        #expect(try type == makeType(row.text))
    }

    @Test("a struct that is described is the struct that is declared")
    func readsStructs() throws {
        let registry = TypeRegistry()
        try registry.declare(window)
        let theme: [String: Any] = ["kind": "enum", "name": "Theme", "raw": "String", "cases": ["light", "dark"]]
        let fields: [[String: Any]] = [
            ["name": "width", "type": ["kind": "Int", "range": [1, 16384]]],
            ["name": "title", "type": "String?", "key": "window_title"],
            ["name": "tags", "type": "[String]", "default": [Int]()],
            ["name": "theme", "type": theme, "default": "dark"],
            ["name": "draft", "type": "Int", "transient": true],
        ]
        let type = try registry.declare(description: tree(["kind": "struct", "name": "Window", "fields": fields]))
        #expect(try type == registry.type("Window"))
    }

    @Test("an enum's cases have raw values of their own, and a default is of the type")
    func readsEnums() throws {
        let cases: [Any] = [["low", 0], ["high", 10]]
        let level: [String: Any] = ["kind": "enum", "name": "Level", "raw": "Int", "cases": cases]
        let type = try TypeRegistry().declare(
            description: tree(["kind": "default", "wrapped": level, "default": 10.0]))
        #expect(try type.defaultValue == tree(10))
        #expect(try type.decode(tree(0)) == tree(0))
    }

    @Test(
        "says what is wrong in a description, and where",
        arguments: [
            Row("Expected a type, found Int", 5, [] as [Any]),
            Row("Expected String at kind, found nothing", [:], ["kind"]),
            Row("No type is named Strang", ["kind": "Strang"], [] as [Any]),
            Row("Expected a type at element, found nothing", ["kind": "array"], ["element"]),
            Row(
                "Expected a type at element.value, found Bool",
                ["kind": "array", "element": ["kind": "dictionary", "value": true]], ["element", "value"]),
            Row(
                "Expected a range with a number in it at length, found \"2\" (line 1, column 1)",
                ["kind": "String", "length": [2, 1]], ["length"]
            ),
            Row(
                "Expected a whole number at range, found \"1.5\" (line 1, column 1)",
                ["kind": "Int", "range": [1.5, 2.5]], ["range"]),
            Row(
                "Expected a range such as \"1...10\" at range, found Array", ["kind": "Int", "range": [1]],
                ["range"]),
            Row("Int has no length at length", ["kind": "Int", "length": "3"], ["length"]),
            Row("Data has no range at range", ["kind": "Data", "range": "3..."], ["range"]),
            Row("Bool has no range at range", ["kind": "Bool", "range": "3..."], ["range"]),
            Row("Any has no length at length", ["kind": "Any", "length": "3"], ["length"]),
            Row("array has no range at range", ["kind": "array", "element": "Int", "range": "3..."], ["range"]),
            Row(
                "dictionary has no length at length",
                ["kind": "dictionary", "value": "Int", "length": "3"], ["length"]),
            Row(
                "A has no length at length",
                ["kind": "struct", "name": "A", "fields": [Int](), "length": "3"], ["length"]),
            Row(
                "Expected a name for a type, found \"Int\"",
                ["kind": "struct", "name": "Int", "fields": [Int]()], [] as [Any]),
            Row(
                "Expected a name for a type, found \"a b\"",
                ["kind": "struct", "name": "a b", "fields": [Int]()], [] as [Any]),
            Row("Expected Array at fields, found nothing", ["kind": "struct", "name": "A"], ["fields"]),
            Row(
                "Expected String at fields[0].name, found nothing",
                ["kind": "struct", "name": "A", "fields": [["type": "Int"]]], ["fields", 0, "name"]),
            Row(
                "Expected String at fields[0].default, found Int",
                ["kind": "struct", "name": "A", "fields": [["name": "a", "type": "String", "default": 1]]],
                ["fields", 0, "default"]),
            Row(
                "Expected String at fields[0].default[1], found Int",
                ["kind": "struct", "name": "A", "fields": [["name": "a", "type": "[String]", "default": ["b", 1]]]],
                ["fields", 0, "default", 1]),
            Row(
                "Struct A declares two fields a",
                [
                    "kind": "struct", "name": "A",
                    "fields": [["name": "a", "type": "Int"], ["name": "a", "type": "Int"]],
                ],
                [] as [Any]),
            Row(
                "Expected \"String\" or \"Int\" at raw, found String",
                ["kind": "enum", "name": "A", "raw": "Double", "cases": ["a"]], ["raw"]),
            Row(
                "Expected a name with a raw value of Int at cases[0], found String",
                ["kind": "enum", "name": "A", "raw": "Int", "cases": ["a"]], ["cases", 0]),
            Row("Enum A has no cases", ["kind": "enum", "name": "A", "raw": "Int", "cases": [Int]()], [] as [Any]),
            Row(
                "Expected the end of the type at element, found \"x\" (line 1, column 5)",
                ["kind": "array", "element": "Int x"], ["element"]),
            Row("No type is named Later", "[Later]", [] as [Any]),
        ])
    func refuses(_ row: Row) throws {
        let description = try tree(row.given)
        let error = caught { try TypeRegistry().declare(description: description) }
        #expect(error?.message(firstIndex: 0) == row.text)
        #expect(error?.isAboutType == true)
        let steps = (row.wanted as? [Any] ?? []).map { step -> PropertyListPath.Step in
            (step as? Int).map { .index($0) } ?? .key("\(step)")
        }
        #expect(error?.path == PropertyListPath(steps))
    }
}
