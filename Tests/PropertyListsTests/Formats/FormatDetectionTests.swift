import PropertyLists
import Testing

@Suite struct FormatDetectionTests {
    @Test(
        "the beginning of a file shows its format",
        arguments: [
            ("bplist00", .binary), ("bplist", .binary), ("bplis", .openStep), ("<?xml", .xml), ("<!-- x", .xml),
            ("<plist>", .xml), (" <dict/>", .xml), ("<00ff>", .openStep), ("[1]", .json), (#"{"a" : 1}"#, .json),
            ("{'a': 1}", .json), (#"{"a\"b": 1}"#, .json), ("{ // b\n /* c */ \"a\": 1}", .json),
            ("{ // b\n \"a\": 1}", .json),
            ("{ /* \"a\": 1}", .openStep), (#"{"a" = 1;}"#, .openStep), ("{a = 1;}", .openStep), ("12", .openStep),
            ("", nil),
        ] as [(String, PropertyListFormat?)])
    func detects(_ text: String, _ format: PropertyListFormat?) {
        #expect(Array(text.utf8).withUnsafeBytes { PropertyListFormat.detect($0) } == format)
    }

    @Test("a file for JSON is read as JSON where it would be text of OpenStep")
    func expects() {
        for (name, text, format) in [
            ("a.json", "{a = 1;}", .json), ("a.json", "[1]", nil), ("a.json", "bplist00", nil),
            ("a.plist", "{a = 1;}", nil),
        ] as [(String, String, PropertyListFormat?)] {
            #expect(PropertyListFormat.expected(inFile: name, Array(text.utf8)) == format, "\(name): \(text)")
        }
    }

    @Test("text in UTF-16 shows it as well")
    func detectsUTF16() {
        let bytes: [UInt8] = [0xFE, 0xFF, 0, 0x5B, 0, 0x5D]
        #expect(bytes.withUnsafeBytes { PropertyListFormat.detect($0) } == .json)
    }
}
