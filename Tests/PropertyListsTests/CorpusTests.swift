import Foundation
import PropertyLists
import Testing

@Suite("Corpus", .disabled(if: Corpus.isAbsent, "KVCODABLE_CORPUS is not set"))
struct CorpusTests {
    /// Files of invalid/ that are legal: 16 doublings stay within the node budget.
    static let accepted: Set = ["invalid/handmade/laughs16.bin"]

    @Test("reads every valid file", arguments: Corpus.files(in: "valid") + Corpus.files(in: "archives"))
    func readsValid(_ file: Corpus.File) throws {
        guard file.bytes.withUnsafeBytes({ PropertyListFormat.detect($0) }) != .openStep else { return }
        let list = try PropertyList(parsing: file.bytes)
        #expect(try PropertyList(parsing: try list.serialized(as: .binary)) == list)
        if let xml = try? list.serialized(as: .xml) { #expect(try PropertyList(parsing: xml) == list) }
    }

    @Test("rejects every invalid file", arguments: Corpus.files(in: "invalid"))
    func rejectsInvalid(_ file: Corpus.File) throws {
        let error = propertyListError { _ = try PropertyList(parsing: file.bytes) }
        #expect(error != nil || Self.accepted.contains(file.name))
    }
}
