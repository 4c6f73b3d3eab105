import Foundation
import PropertyLists
import TestSupport
import Testing

/// Values that JSON has no word for, as JSON.
@Suite("JSON's form of values") struct JSONFormTests {
    @Test(
        "has one object for each value that JSON lacks",
        arguments: [
            (PropertyList(Date(timeIntervalSinceReferenceDate: 0)), #"{"$date":"2001-01-01T00:00:00Z"}"#),
            (PropertyList(Date(timeIntervalSinceReferenceDate: 0.25)), #"{"$date":0.25}"#),
            (PropertyList(Date(timeIntervalSinceReferenceDate: 1e15)), #"{"$date":1000000000000000.0}"#),
            (PropertyList(Data([0, 1, 2, 255])), #"{"$data":"AAEC/w=="}"#),
            (PropertyList(Data()), #"{"$data":""}"#),
            (PropertyList(PropertyListUID(7)), #"{"$uid":7}"#),
            (PropertyList(Double.infinity), #"{"$real":"inf"}"#),
            (PropertyList(-Double.infinity), #"{"$real":"-inf"}"#),
            (["$date": "x"], #"{"$$date":"x"}"#),
            (["$$date": ["$": 1]], #"{"$$$date":{"$$":1}}"#),
            (["$date": 1, "other": [.null, ["$data": []]]], #"{"$date":1,"other":[null,{"$$data":[]}]}"#),
            ("\u{1}\u{1F}\u{7F}\n\"\\", "\"\\u0001\\u001f\u{7F}\\n\\\"\\\\\""),
            ([:], "{}"), (5, "5"), (["a": [1.0, true, "x"]], #"{"a":[1.0,true,"x"]}"#),
        ] as [(PropertyList, String)])
    func hasObjects(_ list: PropertyList, _ text: String) throws {
        let form = try list.jsonForm()
        #expect(try String(decoding: form.serialized(as: .json), as: UTF8.self) == text)
        #expect(try PropertyList(parsing: Array(text.utf8), as: .json).valueOfJSONForm() == list)
    }

    @Test("gives not-a-number again")
    func givesNaN() throws {
        let again = try PropertyList(Double.nan).jsonForm().valueOfJSONForm()
        #expect(again.real?.isNaN == true)
    }

    @Test("keeps objects that only look like such a value, and reads spaces in base64")
    func keepsOthers() throws {
        for text in [#"{"$other":1}"#, #"{"$date":{"x":1}}"#, #"{"$date":"2001-01-01T00:00:00Z","more":1}"#] {
            let list = try PropertyList(parsing: Array(text.utf8), as: .json)
            #expect(try list.valueOfJSONForm() == list)
        }
        let spaced = try PropertyList(parsing: Array(#"{"$data":" AA EC"}"#.utf8), as: .json)
        #expect(try spaced.valueOfJSONForm() == PropertyList(Data([0, 1, 2])))
    }

    @Test(
        "names the place of what should be such a value and is none",
        arguments: [
            (
                #"{"a":[{"$date":"2001-02-30T00:00:00Z"}]}"#,
                #"Expected a date such as "2026-11-21T08:00:00Z" at a[0], found "2001-02-30T00:00:00Z""#
            ),
            (#"{"a":{"$data":"AAE"}}"#, #"Expected data in base64 at a, found "AAE""#),
            (#"{"$data":5}"#, "Expected data in base64, found 5"),
            (#"{"$uid":-1}"#, "Expected 32 bits, found -1"),
            (#"{"$real":"one"}"#, #"Expected "inf", "-inf" or "nan", found "one""#),
        ])
    func namesPaths(_ text: String, _ message: String) throws {
        let list = try PropertyList(parsing: Array(text.utf8), as: .json)
        let error = #expect(throws: PropertyListError.self) { try list.valueOfJSONForm() }
        #expect(error?.description == message)
        #expect(error?.code == .invalidValue)
    }

    // proves: G76
    @Test("goes both ways for generated values")
    func goesBothWays() throws {
        var generator = SeededGenerator(seed: 19)
        for _ in 0..<500 {
            let list = Self.value(&generator, depth: 4)
            let text = try list.jsonForm().serialized(as: .json)
            #expect(try PropertyList(parsing: text, as: .json).valueOfJSONForm() == list)
        }
    }

    private static func value(_ generator: inout SeededGenerator, depth: Int) -> PropertyList {
        switch Int.random(in: 0..<(depth > 0 ? 10 : 7), using: &generator) {
        case 0: PropertyList(Bool.random(using: &generator))
        case 1: PropertyList(Int64(bitPattern: generator.next()))
        case 2: PropertyList(Double(Int64(bitPattern: generator.next())) / 1024)
        case 3: PropertyList(Date(timeIntervalSinceReferenceDate: Double(generator.next() % 1_000_000) / 4))
        case 4: PropertyList(PropertyListUID(UInt32(truncatingIfNeeded: generator.next())))
        case 5: PropertyList(Data((0..<(generator.next() % 5)).map { UInt8($0) }))
        case 6: PropertyList(["", "$date", "text\n\"", "é"].randomElement(using: &generator) ?? "")
        case 7: PropertyList((0..<(generator.next() % 3)).map { _ in value(&generator, depth: depth - 1) })
        default:
            PropertyList(
                Dictionary(
                    ["$date", "$data", "$", "a", "b"].shuffled(using: &generator).prefix(Int(generator.next() % 3))
                        .map { ($0, value(&generator, depth: depth - 1)) }
                ) { first, _ in first })
        }
    }
}

/// Paths as people write them.
@Suite("Texts of paths") struct PathTextTests {
    @Test(
        "give the path, and come back from it",
        arguments: [
            ("", []), ("ui.window.width", ["ui", "window", "width"]), ("list[2]", ["list", 2]),
            ("[0][1].a", [0, 1, "a"]),
            ("\"com.example.app\".x", ["com.example.app", "x"]), ("a.\"\"", ["a", ""]),
            ("\"q\\\"b\\\\\"", ["q\"b\\"]), ("é.\"two words\"", ["é", "two words"]), ("a[0].b[10]", ["a", 0, "b", 10]),
        ] as [(String, PropertyListPath)])
    func givePaths(_ text: String, _ path: PropertyListPath) throws {
        #expect(try PropertyListPath(text: text) == path)
        #expect(path.text == text)
    }

    @Test(
        "that are wrong say where",
        arguments: [
            ("a..b", "Expected a key in the path, found \".\" (line 1, column 3)"),
            (".a", "Expected a key in the path, found \".\" (line 1, column 1)"),
            ("a.", "Expected a key in the path, found the end (line 1, column 3)"),
            ("a[x]", "Expected an index from 0 in the path, found \"x\" (line 1, column 3)"),
            ("a[-1]", "Expected an index from 0 in the path, found \"-\" (line 1, column 3)"),
            ("a[1", "Expected \"]\" in the path, found the end (line 1, column 4)"),
            ("a[99999999999999999999]", "Expected an index from 0 in the path, found \"9\" (line 1, column 3)"),
            ("\"a", "Expected \"\"\" in the path, found the end (line 1, column 3)"),
            ("a b", "Expected \".\" in the path, found \" \" (line 1, column 2)"),
        ])
    func sayWhere(_ text: String, _ message: String) {
        let error = #expect(throws: PropertyListError.self) { try PropertyListPath(text: text) }
        #expect(error?.description == message)
        #expect(error?.code == .malformed)
    }
}
