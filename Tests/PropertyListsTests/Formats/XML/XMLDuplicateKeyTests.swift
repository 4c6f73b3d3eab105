import PropertyLists
import TestSupport
import Testing

@Suite struct XMLDuplicateKeyTests {
    @Test("keeps the last of equal keys, empty ones too", arguments: ["", "a", "a longer key"])
    func keepsLast(_ key: String) throws {
        let entry = "<key>\(key)</key>"
        let text = "<plist><dict>\(entry)<true/>\(entry)<dict/>\(entry)<integer>3</integer></dict></plist>"
        let list = try PropertyList(parsing: Array(text.utf8))
        #expect(notation(list) == "{\"\(key)\": 3}")
    }
}
