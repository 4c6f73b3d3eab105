import Foundation
import PropertyLists
import TestSupport
import Testing

/// Files that persons wrote, written anew around their comments.
@Suite struct XMLLayoutTests {
    static let folder = testsFolder.appending(path: "Data/Commented")
    static let files = ["agent", "editor", "inside", "line", "windows"]

    static func text(of file: String) throws -> String {
        String(decoding: try Data(contentsOf: folder.appending(path: file + ".plist")), as: UTF8.self)
    }

    @Test("a file whose values did not change stays what it is, byte by byte", arguments: files)
    func unchanged(_ file: String) throws {
        let text = try Self.text(of: file)
        #expect(try PropertyList(parsing: Array(text.utf8)).laidOut(as: text) == text)
    }

    /// A change of a dictionary that stands in `<plist>`: the old lines, the new value in JSON, the new lines.
    struct Change: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let old: String
        let value: String
        let new: String

        init(_ description: String, _ old: String, _ value: String, _ new: String) {
            (testDescription, self.old, self.value, self.new) = (description, old, value, new)
        }
    }

    static let dictionaries = [
        Change(
            "a changed value, between and inside", "<dict><!-- a --><key>a</key><!-- v --><integer>1</integer></dict>",
            #"{"a": 2}"#, "<dict><!-- a --><key>a</key><!-- v --><integer>2</integer></dict>"),
        Change(
            "order, and new keys behind, sorted",
            "<dict>\n\t<key>c</key>\n\t<true/>\n\t<key>b</key>\n\t<true/>\n\t<!-- end -->\n</dict>",
            #"{"a": [1], "b": true, "c": true, "d": {}}"#,
            """
            <dict>\n\t<key>c</key>\n\t<true/>\n\t<key>b</key>\n\t<true/>
            \t<key>a</key>\n\t<array>\n\t\t<integer>1</integer>\n\t</array>\n\t<key>d</key>\n\t<dict/>
            \t<!-- end -->\n</dict>
            """),
        Change(
            "a removed key takes what stands before it",
            "<dict>\n<!-- a -->\n<key>a</key><true/>\n<!-- b -->\n<key>b</key><true/>\n</dict>",
            #"{"b": true}"#, "<dict>\n<!-- b -->\n<key>b</key><true/>\n</dict>"),
        Change(
            "a comment on a value's line stays with it",
            "<dict>\n<key>a</key><true/> <!-- a -->\n<key>b</key><true/>\n</dict>",
            #"{"a": true, "c": 1}"#,
            "<dict>\n<key>a</key><true/> <!-- a -->\n<key>c</key>\n<integer>1</integer>\n</dict>"),
        Change(
            "and is there once where the next value changes",
            "<dict>\n<key>a</key><true/> <!-- a -->\n<key>b</key><true/> <!-- b -->\n</dict>",
            #"{"a": true, "b": 1}"#,
            "<dict>\n<key>a</key><true/> <!-- a -->\n<key>b</key><integer>1</integer> <!-- b -->\n</dict>"),
        Change(
            "and with the key that it stands before",
            "<dict>\n  <key>x</key><true/> <!-- x -->\n  <key>a</key><true/> <!-- a -->\n  <key>b</key><true/>\n</dict>",
            #"{"b": true, "x": true}"#,
            "<dict>\n  <key>x</key><true/> <!-- x -->\n  <!-- a -->\n  <key>b</key><true/>\n</dict>"),
        Change(
            "the container's end keeps its comment", "<dict><key>a</key><true/><!-- end --></dict>",
            #"{}"#, "<dict><!-- end --></dict>"),
        Change(
            "an empty dictionary with a comment", "<dict>\n\t<!-- none -->\n</dict>", #"{"a": true}"#,
            "<dict>\n\t<key>a</key>\n\t<true/>\n\t<!-- none -->\n</dict>"),
        Change(
            "one without an inside", "<dict/>", #"{"a": true}"#, "<dict>\n\t<key>a</key>\n\t<true/>\n</dict>"),
        Change(
            "another kind of value", "<dict><!-- a --><key>a</key><dict><!-- in --></dict><!-- end --></dict>",
            #"{"a": [true]}"#, "<dict><!-- a --><key>a</key><array>\n\t\t<true/>\n\t</array><!-- end --></dict>"),
        Change(
            "nested",
            "<dict><key>a</key><dict><!-- b --><key>b</key><dict><!-- c --><key>c</key><true/></dict></dict></dict>",
            #"{"a": {"b": {"c": false}}}"#,
            "<dict><key>a</key><dict><!-- b --><key>b</key><dict><!-- c --><key>c</key><false/></dict></dict></dict>"),
        Change(
            "of equal keys the last",
            "<dict><!-- 1 --><key>a</key><true/><!-- b --><key>b</key><true/><!-- 2 --><key>a</key><false/></dict>",
            #"{"a": false, "b": true}"#, "<dict><!-- b --><key>b</key><true/><!-- 2 --><key>a</key><false/></dict>"),
        Change(
            "the indentation of the file", "  <dict>\n    <!-- b -->\n    <key>b</key>\n    <true/>\n  </dict>",
            #"{"a": {"x": [1]}, "b": true}"#,
            """
              <dict>\n    <!-- b -->\n    <key>b</key>\n    <true/>
                <key>a</key>\n    <dict>\n      <key>x</key>\n      <array>\n        <integer>1</integer>\n      </array>\n    </dict>
              </dict>
            """),
    ]

    /// Whether the root is indented by spaces or by a tab.
    static let indented = [("\t", "\t"), (String(repeating: " ", count: 16), String(repeating: " ", count: 8))].map {
        (base, unit) in
        let inner = "\n\(base)\(unit)"
        let old = "\(base)<dict>\(inner)<key>b</key>\(inner)<true/>"
        return Change(
            "an indented root", old + "\n\(base)</dict>", #"{"a": 1, "b": true}"#,
            old + "\(inner)<key>a</key>\(inner)<integer>1</integer>\n\(base)</dict>")
    }

    static let arrays = [
        Change(
            "an array that did not change",
            "<dict><key>a</key><array><!-- 1 --><integer>1</integer></array><key>b</key><true/></dict>",
            #"{"a": [1], "b": false}"#,
            "<dict><key>a</key><array><!-- 1 --><integer>1</integer></array><key>b</key><false/></dict>"),
        Change(
            "an array that changed",
            "<dict><!-- a --><key>a</key>\n\t<array><!-- 1 --><integer>1</integer></array> <!-- end -->\n</dict>",
            #"{"a": [2]}"#,
            "<dict><!-- a --><key>a</key>\n\t<array>\n\t\t<integer>2</integer>\n\t</array> <!-- end -->\n</dict>"),
    ]

    // proves: G26
    @Test("comments stay where they belong, keys in their order", arguments: dictionaries + indented + arrays)
    func change(_ change: Change) throws {
        func file(_ lines: String) -> String {
            "<!-- first -->\n<plist version=\"1.0\"><!-- root -->\n" + lines + "\n<!-- in --></plist><!-- last -->\n"
        }
        let list = try PropertyList(parsing: Array(change.value.utf8), as: .json)
        let written = try list.laidOut(as: file(change.old))
        #expect(written == file(change.new))
        #expect(try PropertyList(parsing: Array(written.utf8)) == list)
        #expect(try list.laidOut(as: written) == written)
    }

    @Test("a date takes its instruction with it, and no other value another's")
    func dates() throws {
        let instruction = "<?seconds-since-2001 785404800.25?>"
        let old =
            "<plist><dict><key>a</key><date>2025-11-21T08:00:00Z</date>\(instruction)\(instruction)<!-- a --></dict></plist>"
        let whole = try PropertyList(any: ["a": Date(timeIntervalSinceReferenceDate: 785_404_800)])
        #expect(
            try whole.laidOut(as: old)
                == "<plist><dict><key>a</key><date>2025-11-21T08:00:00Z</date><!-- a --></dict></plist>")
        let text = "<plist><dict><key>a</key><string>x</string>\(instruction)<!-- a --></dict></plist>"
        #expect(try PropertyList(parsing: Array(try whole.laidOut(as: text).utf8)) == whole)
        #expect(try PropertyList(parsing: Array(old.utf8)).laidOut(as: old) == old)
    }

    @Test("a UID that changed is written anew; one that did not stays")
    func uids() throws {
        let old =
            "<plist><dict><!-- a --><key>a</key><dict><key>CF$UID</key><!-- in --><integer>1</integer></dict></dict></plist>"
        let list = try PropertyList(parsing: Array(old.utf8))
        #expect(try list.laidOut(as: old) == old)
        var builder = PropertyListBuilder()
        try builder.append(uid: 2)
        let changed = try list.setting(try builder.finish(), at: ["a"])
        let written = try changed.laidOut(as: old)
        #expect(try PropertyList(parsing: Array(written.utf8)) == changed)
        #expect(written.contains("<!-- a -->"))
    }

    @Test("text of another encoding becomes UTF-8, with its comments and a declaration that says so")
    func encodings() throws {
        let body = "\n<plist><dict><!-- ü 𝄞 -->\n<key>ö</key><true/></dict></plist>\n"
        let list = try PropertyList(any: ["ö": true])
        for (name, encoding) in [
            ("UTF-16", String.Encoding.utf16), ("utf-16le", .utf16LittleEndian), ("UTF-16BE", .utf16BigEndian),
            ("UTF-32", .utf32),
        ] {
            let old = try #require("<?xml version=\"1.0\" encoding=\"\(name)\"?>\(body)".data(using: encoding))
            let written = try list.serialized(inLayoutOf: Array(old))
            #expect(
                String(decoding: written, as: UTF8.self) == "<?xml version=\"1.0\" encoding=\"UTF-8\"?>" + body)
        }
        let ascii = "<?xml version='1.0' encoding='US-ASCII'?><plist><dict><!-- a --></dict></plist>"
        #expect(
            try list.laidOut(as: ascii).hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?><plist><dict>\n\t<key>ö"))
    }

    @Test("a file that is no XML gives none; a value that XML cannot hold is an error with its path")
    func refusals() throws {
        let list = try PropertyList(any: ["a": "b"])
        for old in ["", "{ a = b; }", "{\"a\": 1}", "<plist><dict><!-- a --></plist>", "bplist00", "<plist></plist>"] {
            #expect(try list.serialized(inLayoutOf: Array(old.utf8)) == list.serialized(as: .xml), "\(old)")
        }
        let unfit = try PropertyList(any: ["a": "\u{7}"])
        for old in [
            "<plist><dict><!-- a --><key>a</key><string>\u{7}</string></dict></plist>", "<plist><dict/></plist>",
        ] {
            let error = propertyListError { _ = try unfit.serialized(inLayoutOf: Array(old.utf8)) }
            #expect(error?.path == ["a"])
        }
    }

    static let hostile: [String: String] = [
        "many comments": "<dict>" + String(repeating: "<!---->", count: 200_000) + "</dict>",
        "a long comment": "<dict><!--" + String(repeating: "- ", count: 1_000_000) + "--></dict>",
        "deep dictionaries": String(repeating: "<dict><!-- a --><key>a</key>", count: 511) + "<dict/>"
            + String(repeating: "</dict>", count: 511),
        "deep arrays": "<dict><key>a</key>" + String(repeating: "<array><!-- a -->", count: 511)
            + String(repeating: "<true/>", count: 20_000) + String(repeating: "</array>", count: 511) + "</dict>",
        "equal keys": "<dict>" + String(repeating: "<!-- a --><key>a</key><true/>", count: 20_000) + "</dict>",
        "comments that no other parser takes": "<dict><!-- a -- b ---><!-- \u{1} \u{FFFE} --></dict>",
        "wide indentation": "\n<dict>\n" + String(repeating: " ", count: 100_000) + "<key>a</key><true/></dict>",
    ]

    @Test("hostile files come to their size and some lines", arguments: hostile.keys.sorted())
    func hostileFiles(_ name: String) throws {
        let old = "<plist>\(try #require(Self.hostile[name]))</plist>"
        let tree = try PropertyList(parsing: Array(old.utf8))
        let list = try tree.setting(PropertyList(any: [1, 2]), at: ["new"])
        let written = try list.laidOut(as: old)
        #expect(try PropertyList(parsing: Array(written.utf8)) == list)
        #expect(try list.laidOut(as: written) == written)
        #expect(written.utf8.count < old.utf8.count + 200)
        if name != "equal keys" { #expect(written.count { $0 == "!" } == old.count { $0 == "!" }) }
    }

    @Test("a layout that makes the file too large is left out")
    func size() throws {
        let old = Array("<plist><dict><!-- \(String(repeating: "long ", count: 1000)) --></dict></plist>".utf8)
        let list = try PropertyList(any: ["a": "b"])
        #expect(try list.serialized(inLayoutOf: old).count > 5000)
        #expect(try list.serialized(inLayoutOf: old, size: 5000) == list.serialized(as: .xml))
    }

    @Test(
        "a file has a layout of its own with comments, instructions, keys in another order or twice",
        arguments: [
            ("<dict><key>a</key><true/><key>b</key><true/></dict>", false),
            ("<dict><key>b</key><true/><key>a</key><true/></dict>", true),
            ("<dict><key>a</key><true/><key>a</key><true/></dict>", true),
            ("<dict><key>a</key><string><!-- a --></string></dict>", true),
            ("<array><dict/><dict><key>b</key><dict/><key>a</key><dict/></dict></array>", true),
            ("<dict><key>a</key><dict><key>x</key><dict/><key>y</key><dict/></dict><key>b</key><dict/></dict>", false),
            ("<dict><key>a</key><date>2001-01-01T00:00:00Z</date><?seconds-since-2001 0.5?></dict>", false),
            ("<dict><?pi?></dict>", true), ("<dict/><!-- a -->", true), ("<dict/>", false),
        ])
    func hasLayout(_ body: String, _ expected: Bool) throws {
        let file = try ParsedFile(parsing: Array("<plist version=\"1.0\">\(body)</plist>".utf8))
        #expect(file.hasLayout == expected)
    }
}

extension PropertyList {
    func laidOut(as old: String) throws -> String {
        String(decoding: try serialized(inLayoutOf: Array(old.utf8)), as: UTF8.self)
    }
}
