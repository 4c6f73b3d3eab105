import Foundation
import PropertyLists
import Testing

@Suite("JSON of the corpus", .disabled(if: Corpus.isAbsent, "KVCODABLE_CORPUS is not set"))
struct JSONCorpusTests {
    @Test("reads and rejects what JavaScriptCore's tests do")
    func javaScriptCore() throws {
        let file = try #require(
            Corpus.files(in: "valid/swift-foundation").first { $0.name.hasSuffix("JSON_javascriptcore_tests.plist") })
        var differences: Set<String> = []
        for row in try PropertyList(parsing: file.bytes).elements {
            // The file has a backslash before each quote.
            guard let input = row["input"]?.string?.replacing("\\\"", with: "\"") else { continue }
            let fails = row["fails"]?.boolean ?? false
            let error = propertyListError { _ = try PropertyList(parsing: Array(input.utf8), as: .json) }
            if fails != (error != nil) { differences.insert(input) }
        }
        // A trailing comma and a tab in a string, neither of which RFC 8259 has.
        #expect(differences.subtracting(["[1,]", "\"a\tz\""]).count == differences.count - 2)
        // Two rows say of sound JSON that it fails.
        let sound = differences.subtracting(["[1,]", "\"a\tz\""])
        #expect(sound.count == 2)
        for input in sound {
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(input.utf8)) }
        }
    }
}

@Suite struct JSONFoundationTests {
    @Test("reads and rejects what Foundation does, but for what the RFC and 64 bits do not allow")
    func foundation() {
        var differences: Set<String> = []
        for vector in vectors("formats", of: FormatVector.self) where vector.format == "json" {
            let foundation = try? JSONSerialization.jsonObject(with: Data(vector.bytes), options: [.fragmentsAllowed])
            if (foundation == nil) != (vector.tree == nil) { differences.insert(vector.name) }
        }
        #expect(differences == ["an integer above 64 bits in JSON", "JSON with a trailing comma"])
    }
}
