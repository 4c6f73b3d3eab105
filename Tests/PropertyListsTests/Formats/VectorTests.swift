import Foundation
import PropertyLists
import TestSupport
import Testing

/// A row of `Tests/Vectors/formats.json`.
struct FormatVector: Decodable, Sendable, CustomTestStringConvertible {
    var name: String
    var format: String
    var text: String?
    var hex: String?
    var tree: String?
    var error: VectorFailure?

    var testDescription: String { "\(format): \(name)" }

    var bytes: [UInt8] {
        if let text { return Array(text.utf8) }
        let digits = Array(hex ?? "")
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }

    var known: PropertyListFormat? {
        PropertyListFormat.allCases.first { "\($0)".lowercased() == format.lowercased() }
    }
}

/// The rows of every format, and those that JSON has a file of its own for.
let formatVectors: [FormatVector] = vectors("formats") + vectors("json")

@Suite struct VectorTests {
    // proves: G77
    @Test("gives what the vectors say", arguments: formatVectors)
    func reads(_ vector: FormatVector) throws {
        let format = try #require(vector.known)
        do throws(PropertyListError) {
            let list = try PropertyList(parsing: vector.bytes, as: format)
            #expect(notation(list) == vector.tree)
        } catch {
            check(error, vector)
        }
    }

    private func check(_ found: PropertyListError, _ vector: FormatVector) {
        guard let expected = vector.error else {
            Issue.record("Expected \(vector.tree ?? ""), found: \(found)")
            return
        }
        #expect("\(found.code)" == expected.code, "\(found)")
        if let offset = expected.offset { #expect(found.location == .offset(offset), "\(found)") }
        if let line = expected.line, let column = expected.column {
            #expect(found.location == .line(line, column: column), "\(found)")
        }
        if let path = expected.path { #expect(found.path.description == path, "\(found)") }
        #expect(found.location != nil)
    }
}

@Suite struct FaultWordsTests {
    @Test(
        "says what is wrong with a character and with base64, and where",
        arguments: [
            (#"["a\ud800"]"#, "Expected a pair of surrogates at [0], found \\ud800 alone (line 1, column 4)"),
            (#"["\ud83d\Ude00"]"#, "Expected a pair of surrogates at [0], found \\ud83d alone (line 1, column 3)"),
            (#"["\udc00x"]"#, "Expected a pair of surrogates at [0], found \\udc00 alone (line 1, column 3)"),
            (#"["\u12"]"#, "Expected four hexadecimal digits of a character at [0] (line 1, column 3)"),
            (#"{a = "\Ud83d";}"#, "Expected a pair of surrogates at a, found \\Ud83d alone (line 1, column 7)"),
            ("{(1) = 2;}", "Expected a key or }, found ( (line 1, column 2)"),
            ("[1", "Expected , or ] at [1], found the end (line 1, column 3)"),
            ("[1}", "Expected , or ] at [1], found } (line 1, column 3)"),
            ("[\"\\ \"]", "Expected an escape at [0], found \\  (line 1, column 3)"),
            ("[\"\\\u{1F}\"]", "Expected an escape at [0], found \\U+001f (line 1, column 3)"),
            ("<plist><true/>", "Expected </plist>, found the end (line 1, column 15)"),
            ("<plist><string a=\"", "Expected a quote, found the end (line 1, column 19)"),
            ("<plist><true/></dict>", "Expected </plist>, found </dict> (line 1, column 15)"),
            ("<plist><dict></array></plist>", "Expected </dict>, found </array> (line 1, column 14)"),
            ("<plist><string>a</key></plist>", "Expected </string>, found </key> (line 1, column 17)"),
            ("<plist><string>a</x y></plist>", "Expected </string>, found </x y> (line 1, column 17)"),
            (
                "<plist><\(String(repeating: "a", count: 50))/></plist>",
                "Expected a value, found <\(String(repeating: "a", count: 39)) (line 1, column 8)"
            ),
            ("<plist><real>1</key></plist>", "Expected </real>, found </key> (line 1, column 15)"),
            ("<plist><real></real></plist>", "Expected a real number, found nothing (line 1, column 8)"),
            (
                "<plist><real>&x;</real></plist>",
                "Expected one of XML's five entities or a numeric reference (line 1, column 14)"
            ),
            (
                "<plist><dict><key>&x;</key></dict></plist>",
                "Expected one of XML's five entities or a numeric reference (line 1, column 19)"
            ),
            ("<?><plist><true/></plist>", "Expected ?>, found the end (line 1, column 1)"),
            (
                "<?xml version='1.0' encoding = 'x'?><true/>",
                "Expected UTF-8, UTF-16 or UTF-32, found encoding x (line 1, column 1)"
            ),
            ("<plist><data>AQ\nI*</data></plist>", "Expected base64, found * (line 2, column 2)"),
            (
                "<plist><data>AQI</data></plist>",
                "Expected base64 with all its digits and padding, found its end (line 1, column 17)"
            ),
            ("<plist><data>A<!-- x -->*</data></plist>", "Expected base64, found something else (line 1, column 8)"),
        ])
    func words(_ text: String, _ words: String) {
        let error = propertyListError { _ = try PropertyList(parsing: Array(text.utf8)) }
        #expect(error.map { "\($0)" }?.contains(words) == true, "\(error.map { "\($0)" } ?? "no error")")
    }

    @Test("takes for base64 what its decoder takes, and nothing else", arguments: 0..<8)
    func base64(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let text = (0..<Int.random(in: 0..<10, using: &random)).map { _ in
                "Aa+=  \n*".utf8.randomElement(using: &random) ?? 0
            }
            let file = Array("<plist><data>".utf8) + text + Array("</data></plist>".utf8)
            // Foundation's decoder takes text with too little or too much padding.
            let digits = String(decoding: text.filter { $0 != 0x20 && $0 != 0x0A }, as: UTF8.self)
            let isBase64 = digits.wholeMatch(of: /(?:[Aa+]{4})*(?:[Aa+]{2}==|[Aa+]{3}=)?/) != nil
            let known = isBase64 ? Data(base64Encoded: digits) : nil
            let found = try? PropertyList(parsing: file)
            #expect((found != nil) == isBase64, "\(digits)")
            #expect(found?.data == known.map { Array($0) }, "\(digits)")
        }
    }
}

@Suite struct StricterThanFoundationTests {
    private static func plist(_ inside: String, _ behind: String = "") -> [UInt8] {
        Array("<?xml version=\"1.0\"?><plist version=\"1.0\">\(inside)</plist>\(behind)".utf8)
    }

    /// The files that, by Formats.md, Foundation takes and this reader does not.
    private static let refused: [(String, [UInt8])] = [
        (
            "a key of a binary dictionary that is no string",
            Array("bplist00".utf8) + [0xD1, 1, 2, 0x10, 5, 0x10, 6, 8, 11, 13, 0, 0, 0, 0, 0, 0, 1, 1]
                + [0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15]
        ),
        ("text behind the end", plist("<true/>", "\nxyz")),
        ("an element behind the end", plist("<true/>", "<true/>")),
        ("30 February", plist("<date>2001-02-30T00:00:00Z</date>")),
        ("an hour 25", plist("<date>2001-02-03T25:00:00Z</date>")),
        ("base64 in chunks", plist("<data>AQ==AQ==</data>")),
        ("base64 without padding", plist("<data>AQI</data>")),
        ("base64 with other characters", plist("<data>AQ*ID</data>")),
        ("a key as a value", plist("<key>x</key>")),
        ("spaces alone", Array(" \n".utf8)),
    ]

    @Test("what is stricter than Foundation is what the page on formats says", arguments: refused)
    func refuses(_ name: String, _ file: [UInt8]) {
        #expect(throws: PropertyListError.self) { try PropertyList(parsing: file) }
        #expect(throws: Never.self) { try PropertyListSerialization.propertyList(from: Data(file), format: nil) }
    }

    @Test("a lone surrogate in XML says so", arguments: ["&#xD800;", "&#57343;", "a&#xdbff;&#xdc00;"])
    func loneSurrogate(_ text: String) throws {
        let error = #expect(throws: PropertyListError.self) {
            try PropertyList(parsing: Self.plist("<string>\(text)</string>"))
        }
        #expect(error?.description.hasPrefix("Expected a character, found a lone surrogate (line ") == true)
        #expect(try PropertyList(parsing: Self.plist("<string>&#x1F600;</string>")) == "\u{1F600}")
    }

    @Test(
        "spaces around numbers and dates are read",
        arguments: ["<integer>\n5 </integer>", "<integer> 0x5 </integer>", "<real> 5 </real>"])
    func takesSpaces(_ element: String) throws {
        #expect(try PropertyList(parsing: Self.plist(element)).number == 5)
        #expect(try PropertyList(parsing: Self.plist("<date> 2001-01-01T00:00:05Z\n</date>")).date == 5)
        #expect(throws: (any Error).self) {
            try PropertyListSerialization.propertyList(from: Data(Self.plist(element)), format: nil)
        }
    }
}
