import Foundation
import PropertyLists
import TestSupport
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
    private static let rows = formatVectors.filter { $0.format == "json" }

    private static func foundation(_ vector: FormatVector) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(vector.bytes), options: [.fragmentsAllowed])
    }

    /// It makes reals of them.
    private static let tooLarge: Set = [
        "an integer above 64 bits in JSON", "an integer below 64 bits in JSON", "an integer of forty digits",
    ]

    /// It takes a comma before a bracket or brace.
    private static let commas: Set = [
        "JSON with a trailing comma", "a comma behind an empty object in an array", "an object with a comma at the end",
    ]

    @Test("reads and rejects what Foundation does, but for integers above 64 bits and commas at the end")
    func outcomes() {
        var differences: Set<String> = []
        for vector in Self.rows where (Self.foundation(vector) == nil) != (vector.tree == nil) {
            differences.insert(vector.name)
        }
        #expect(differences == Self.tooLarge.union(Self.commas))
    }

    /// It gives the double beside the nearest one, or the real that is nearest to an integer.
    private static let inexact: Set = [
        "a real just above halfway", "a small real", "a real of four hundred digits", "the largest integers",
    ]

    @Test("gives the values that Foundation gives, but for look-alike keys and what it rounds")
    func values() throws {
        var differences: Set<String> = []
        var compared = 0
        for vector in Self.rows {
            guard let theirs = Self.foundation(vector),
                let ours = try? PropertyList(parsing: vector.bytes, as: .json)
            else { continue }
            compared += 1
            if plain(ours) != plain(theirs) { differences.insert(vector.name) }
        }
        #expect(compared > 70)
        #expect(differences == Self.inexact.union(["look-alike keys in JSON"]))
    }

    /// A value as both see it: Foundation makes an integer of 1.0 where it fits.
    private func plain(_ list: PropertyList) -> String {
        switch list.kind {
        case .array: "[" + list.elements.map(plain).joined(separator: ", ") + "]"
        case .dictionary:
            "{" + list.entries.map { quoted($0.key) + ": " + plain($0.value) }.joined(separator: ", ") + "}"
        case .real: plain(list.real ?? .nan)
        case .unsigned: "\(list.unsigned ?? 0)"
        default: notation(list)
        }
    }

    private func plain(_ value: Any) -> String {
        switch value {
        case let array as [Any]: return "[" + array.map(plain).joined(separator: ", ") + "]"
        case let object as [String: Any]:
            let keys = object.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            return "{" + keys.map { quoted($0) + ": " + plain(object[$0] ?? NSNull()) }.joined(separator: ", ") + "}"
        case let text as String: return quoted(text)
        case let number as NSNumber: return plain(number)
        default: return "null"
        }
    }

    private func plain(_ number: NSNumber) -> String {
        switch String(cString: number.objCType) {
        case "c", "B": number.boolValue ? "true" : "false"
        case "d", "f": plain(number.doubleValue)
        default: number.stringValue
        }
    }

    private func plain(_ value: Double) -> String {
        Int64(exactly: value).map { "\($0)" } ?? decimal(value)
    }
}
