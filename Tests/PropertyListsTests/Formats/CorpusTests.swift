import Foundation
import PropertyLists
import TestSupport
import Testing

@Suite("Corpus", .disabled(if: Corpus.isAbsent, "KVCODABLE_CORPUS is not set"))
struct CorpusTests {
    /// Files of invalid/ that are legal: 16 doublings stay within the node budget.
    static let accepted: Set = ["invalid/handmade/laughs16.bin"]

    /// The file of valid/ that is no property list: words without quotes between them. No oracle reads it either.
    static let rejected = "valid/ckruse-CFPropertyList/date.plain.plist"

    /// Python has no dates beyond year 9999; a binary property list may.
    static let acceptedWithHeader: Set = [
        "invalid/cpython/bin36-too_large_datetime_datetime_overflow_.bplist",
        "invalid/cpython/bin37-too_large_datetime_timedelta_overflow_.bplist",
    ]

    @Test("reads every valid file", arguments: Corpus.files(in: "valid") + Corpus.files(in: "archives"))
    func readsValid(_ file: Corpus.File) throws {
        guard file.name != Self.rejected else {
            #expect(propertyListError { _ = try PropertyList(parsing: file.bytes) }?.location == .line(1, column: 12))
            return
        }
        let list = try PropertyList(parsing: file.bytes)
        #expect(try PropertyList(parsing: try list.serialized(as: .binary)) == list)
        if let xml = try? list.serialized(as: .xml) { #expect(try PropertyList(parsing: xml) == list) }
    }

    @Test("reads OpenStep escapes as Foundation's own tests expect", arguments: ["octal", "unicode"])
    func readsEscapes(_ kind: String) throws {
        let folder = "valid/swift-foundation/test_oldStylePlist_getSlashedChars_"
        let files = Corpus.files(in: "valid/swift-foundation")
        let text = try #require(files.first { $0.name == folder + kind + ".plist" })
        let expected = try #require(files.first { $0.name == folder + kind + "_expected.plist" })
        #expect(try PropertyList(parsing: text.bytes) == PropertyList(parsing: expected.bytes))
    }

    @Test("rejects every invalid file", arguments: Corpus.files(in: "invalid"))
    func rejectsInvalid(_ file: Corpus.File) throws {
        let error = propertyListError { _ = try PropertyList(parsing: file.bytes) }
        #expect(error != nil || Self.accepted.contains(file.name))
        guard file.name.hasPrefix("invalid/cpython/bin") else { return }
        // These came without the header that their test puts before them.
        let whole = Array("bplist00".utf8) + file.bytes
        let wholeError = propertyListError { _ = try PropertyList(parsing: whole) }
        #expect(wholeError != nil || Self.acceptedWithHeader.contains(file.name))
    }
}
