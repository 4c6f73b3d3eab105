import PropertyLists
import TestSupport
import Testing

@Suite struct PropertyListPathTests {
    static let shown: [(PropertyListPath, String)] = [
        ([], ""), (["window", "tags", 2], "window.tags[2]"), ([0, "a b.c"], "[0].a b.c"),
        (PropertyListPath(Array(repeating: .index(0), count: 24)), String(repeating: "[0]", count: 24)),
        (
            PropertyListPath((0..<512).map { $0 == 511 ? .key("last") : .index($0) }),
            (0..<12).map { "[\($0)]" }.joined() + " … 488 steps … " + (500..<511).map { "[\($0)]" }.joined() + ".last"
        ),
        ([.key(String(repeating: "é", count: 80))], String(repeating: "é", count: 80)),
        (
            [.key(String(repeating: "a", count: 50) + String(repeating: "b", count: 50)), 1],
            String(repeating: "a", count: 40) + "…" + String(repeating: "b", count: 40) + "[1]"
        ),
    ]

    @Test("shows a path whole, and a long one by its ends", arguments: shown)
    func shows(_ path: PropertyListPath, _ text: String) {
        #expect(path.description == text)
        #expect(path.description(root: "SELF").hasPrefix("SELF"))
    }

    @Test("tells keys apart by their bytes, as dictionaries do")
    func comparesBytes() {
        let (composed, decomposed): (PropertyListPath, PropertyListPath) = (["a", "\u{E9}"], ["a", "e\u{301}"])
        #expect(composed != decomposed && composed == ["a", "\u{E9}"])
        #expect(Set([composed, decomposed, ["a", "\u{E9}"]]).count == 2)
        #expect(PropertyListPath([.index(1)]) != PropertyListPath([.key("1")]))
    }

    static let xml = """
        <?xml version="1.0"?>
        <plist><dict>
          <key>é</key> <integer>1</integer> <key>list</key>
          <array> <!-- <true/> -->
            <string>a</string><dict><key>x</key><real>1</real></dict>
          </array>
          <key>é</key> <integer>2</integer>
        </dict></plist>
        """
    static let json = """
        { "\\u00e9": 1, "list": [ "a, ] \\" }",
          {"x": [1, 2]} ],
          "last" :true }
        """
    static let locations: [(PropertyListPath, (Int, Int)?, (Int, Int)?)] = [
        ([], (2, 8), (1, 1)), (["é"], (7, 16), (1, 13)), (["list", 0], (5, 5), (1, 26)),
        (["list", 1, "x"], (5, 41), (2, 9)), (["list", 1, "x", 1], nil, (2, 13)), (["last"], nil, (3, 11)),
        (["list", 2], nil, nil), (["list", ""], nil, nil), ([0], nil, nil), (["é", "y"], nil, nil),
    ]

    @Test("finds the line and column of a value in XML and JSON, whatever the encoding")
    func findsLocations() throws {
        let paths = Self.locations.map(\.0)
        let texts = [
            (Self.xml, PropertyListFormat.xml, Self.locations.map(\.1)), (Self.json, .json, Self.locations.map(\.2)),
        ]
        for (text, format, expected) in texts {
            let units: [[UInt8]] = text.utf16.map { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
            let utf16: [UInt8] = [0xFF, 0xFE] + units.joined()
            for file in [Array(text.utf8), utf16] {
                _ = try PropertyList(parsing: file, as: format)
                let found = PropertyListPath.locations(of: paths, in: file, as: format)
                #expect(found == expected.map { $0.map { .line($0.0, column: $0.1) } })
                let wrong: PropertyListFormat = format == .xml ? .binary : .openStep
                #expect(PropertyListPath.locations(of: paths, in: file, as: wrong).allSatisfy { $0 == nil })
            }
            for length in 0..<text.utf8.count {
                // A damaged file has no locations, or those that are there.
                let found = PropertyListPath.locations(of: paths, in: Array(text.utf8.prefix(length)), as: format)
                #expect(found.count == paths.count)
            }
        }
    }

    @Test("keeps every step in the error, and counts indexes from where a language does")
    func keepsSteps() {
        let bytes = Array(String(repeating: "[", count: 600).utf8)
        let error = propertyListError { _ = try PropertyList(parsing: bytes, as: .json) }
        #expect(error?.path.steps.count == 512)
        let zeros = String(repeating: "[1]", count: 12)
        #expect(
            error?.message(firstIndex: 1)
                == "Deeper than 512 levels at \(zeros) … 488 steps … \(zeros) (line 1, column 513)")
    }

    @Test(
        "a message has its path before what was found and the advice, and behind a program's own text",
        arguments: [
            (.expected("Int", found: "String", advice: "remove it"), "Expected Int at k, found String; remove it"),
            (.wrong("No \"a, found b\"", advice: "use c"), "No \"a, found b\" at k; use c"),
            (.expected("Int"), "Expected Int at k"), ("Expected Int, found String", "Expected Int, found String at k"),
        ] as [(ErrorWords, String)])
    func placesPaths(_ words: ErrorWords, _ text: String) {
        #expect(PropertyListError(.malformed, words, at: ["k"]).description == text)
        #expect(PropertyListError(.malformed, words.prefixed("So: "), at: ["k"]).description == "So: \(text)")
        let whole = PropertyListError(.malformed, words.description, at: ["k"])
        #expect(whole.message == words.description && whole.description == "\(words) at k")
    }
}
