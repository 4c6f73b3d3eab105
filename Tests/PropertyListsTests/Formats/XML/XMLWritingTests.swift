import Foundation
import PropertyLists
import TestSupport
import Testing

@Suite struct XMLWritingTests {
    @Test("lays out a file as Apple does")
    func layout() throws {
        let list = try PropertyList(parsing: Array(#"{"b": [1, 1.5, true, {}, []], "a": "x < y & z"}"#.utf8))
        let text = String(decoding: try list.serialized(as: .xml), as: UTF8.self)
        #expect(
            text == """
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <dict>
                \t<key>a</key>
                \t<string>x &lt; y &amp; z</string>
                \t<key>b</key>
                \t<array>
                \t\t<integer>1</integer>
                \t\t<real>1.5</real>
                \t\t<true/>
                \t\t<dict/>
                \t\t<array/>
                \t</array>
                </dict>
                </plist>

                """)
    }

    @Test("lays out a UID as the dictionary that it is in XML")
    func layoutOfUID() throws {
        let text = String(decoding: try PropertyList(any: [PropertyListUID(7)]).serialized(as: .xml), as: UTF8.self)
        #expect(
            text.hasSuffix(
                """
                <array>
                \t<dict>
                \t\t<key>CF$UID</key>
                \t\t<integer>7</integer>
                \t</dict>
                </array>
                </plist>

                """))
    }

    @Test("breaks data into lines as Foundation does, at every depth", arguments: 0...11)
    func dataLines(_ depth: Int) throws {
        for length in [
            0, 1, 2, 3, 8, 9, 10, 11, 12, 18, 33, 34, 35, 36, 37, 38, 39, 45, 48, 51, 54, 55, 56, 57, 58, 59, 60, 114,
            200,
        ] {
            var builder = PropertyListBuilder()
            for _ in 0..<depth { try builder.beginArray() }
            try builder.append(data: (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37) })
            for _ in 0..<depth { try builder.end() }
            let list = try builder.finish()
            let ours = String(decoding: try list.serialized(as: .xml), as: UTF8.self)
            let foundation = try PropertyListSerialization.data(
                fromPropertyList: try list.any(), format: .xml, options: 0)
            #expect(ours == String(decoding: foundation, as: UTF8.self), "\(length) bytes")
        }
    }

    @Test(
        "writes the shortest digits that read back",
        arguments: [
            (0.1, "0.1"), (1, "1"), (-0.0, "-0"), (1.0 / 3, "0.3333333333333333"), (1e22, "1e+22"),
            (123_456.789, "123456.789"),
            (0.001, "0.001"), (1e-7, "1e-07"), (99.99, "99.99"), (-2.5, "-2.5"),
            (100_000_000_000_000.5, "100000000000000.5"),
            (0.30000000000000004, "0.30000000000000004"), (.leastNonzeroMagnitude, "5e-324"), (.infinity, "+infinity"),
            (-.infinity, "-infinity"), (.nan, "nan"),
        ])
    func reals(_ value: Double, _ text: String) throws {
        var builder = PropertyListBuilder()
        try builder.append(real: value)
        let xml = String(decoding: try builder.finish().serialized(as: .xml), as: UTF8.self)
        #expect(xml.contains("<real>\(text)</real>"), "\(xml)")
    }

    @Test("writes random reals so that they read back, never longer than the standard library")
    func randomReals() throws {
        var random = SeededGenerator(seed: 7)
        var builder = PropertyListBuilder()
        var values: [Double] = []
        for index in 0..<20_000 {
            let value =
                index % 2 == 0
                ? Double(bitPattern: random.next()) : (Double(Int64(bitPattern: random.next()) >> 24) / 1000)
            if value.isFinite { values.append(value) }
        }
        try builder.beginArray()
        for value in values { try builder.append(real: value) }
        try builder.end()
        let list = try builder.finish()
        let xml = try list.serialized(as: .xml)
        #expect(try PropertyList(parsing: xml) == list)
        let lines = String(decoding: xml, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("\t<real>") }
        for (line, value) in zip(lines, values) {
            let digits = line.dropFirst(7).dropLast(7)
            #expect(digits.count <= value.description.count, "\(digits) for \(value)")
        }
    }

    static let unwritable: [(String, String, String)] = [
        (
            #"{"a": ["x", "\u0007"]}"#, "a[1]",
            "Expected text that XML can hold, found control character U+0007; binary can hold it"
        ),
        (
            #"{"a\u001f": 1}"#, "a\u{1F}",
            "Expected text that XML can hold, found control character U+001F; binary can hold it"
        ),
        (
            #"{"a\u0007": [1]}"#, "a\u{7}",
            "Expected text that XML can hold, found control character U+0007; binary can hold it"
        ),
        (#"["\uFFFE"]"#, "[0]", "Expected text that XML can hold, found a noncharacter; binary can hold it"),
        (#"{"a": {"b": null}}"#, "a.b", "Expected a value that XML can hold, found nil"),
    ]

    @Test("refuses what XML cannot hold, with its path", arguments: unwritable)
    func refuses(_ json: String, _ path: String, _ message: String) throws {
        let list = try PropertyList(parsing: Array(json.utf8), as: .json)
        let error = propertyListError { _ = try list.serialized(as: .xml) }
        #expect(error?.code == .invalidValue)
        #expect(error?.path.description == path)
        #expect(error?.message == message)
    }

    @Test("refuses years that four digits cannot write", arguments: [-63_145_526_400.5, 252_423_993_600, 1e300])
    func refusesYears(_ seconds: Double) throws {
        var builder = PropertyListBuilder()
        try builder.append(date: seconds)
        let list = try builder.finish()
        #expect(propertyListError { _ = try list.serialized(as: .xml) }?.code == .invalidValue)
        #expect(try PropertyList(parsing: try list.serialized(as: .binary)) == list)
    }

    @Test("writes OpenStep never, null in JSON alone, and no date, data or UID in JSON")
    func refusesFormats() throws {
        let null = try PropertyList(parsing: Array("[null]".utf8), as: .json)
        #expect(propertyListError { _ = try null.serialized(as: .openStep) }?.code == .invalidValue)
        let error = propertyListError { _ = try null.serialized(as: .binary) }
        #expect(error?.path == [0])
        #expect(error?.message == "Expected a value that binary can hold, found nil")
        let alone = propertyListError { _ = try PropertyList.null.serialized(as: .binary) }
        #expect(alone?.description == "Expected a value that binary can hold, found nil")
        #expect(try null.serialized(as: .json) == Array("[null]".utf8))
        for (text, kind) in [
            ("<data/>", "Data"), ("<date>2001-01-01T00:00:00Z</date>", "Date"), ("<real>nan</real>", "nan"),
        ] {
            let list = try PropertyList(parsing: Array("<array>\(text)</array>".utf8))
            let error = propertyListError { _ = try list.serialized(as: .json) }
            #expect(error?.path == [0])
            #expect(error?.message == "Expected a value that JSON can hold, found \(kind)")
        }
    }
}
