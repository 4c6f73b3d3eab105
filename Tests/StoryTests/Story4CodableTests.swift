import Foundation
import KVCodable
import KeyValueCoder
import PropertyLists
import Testing

private enum Theme: String, Codable {
    case light, dark
}

private struct Settings: Codable, Equatable {
    var theme = Theme.dark
    var recentFiles = ["a.txt", "b.txt"]
    var window: [String: Int] = ["width": 640]
    var opened = Date(timeIntervalSinceReferenceDate: 3)
    var note: String?
}

/// Story 4: Codable to and from Any, UserDefaults and the store.
@Suite(.serialized) struct Story4CodableTests {
    private let readable: [String: Any] = [
        "theme": "dark", "recentFiles": ["a.txt", "b.txt"], "window": ["width": 640],
        "opened": Date(timeIntervalSinceReferenceDate: 3),
    ]

    @Test("a value becomes dictionaries, arrays and scalars, and comes back")
    func any() throws {
        let value = try KeyValueEncoder().encode(Settings()) as Any
        #expect(try PropertyList(any: value) == PropertyList(any: readable))
        #expect(try KeyValueDecoder().decode(Settings.self, from: value) == Settings())
        #expect(try KeyValueEncoder().encode(Theme.light) as? String == "light")
    }

    @Test("an error says what was expected, where, and what was found")
    func errors() throws {
        var value = readable
        value["recentFiles"] = ["a.txt", 5]
        let error = #expect(throws: DecodingError.self) { try KeyValueDecoder().decode(Settings.self, from: value) }
        guard case .typeMismatch(_, let context)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.debugDescription == "Expected String at SELF.recentFiles[1], found Int")
    }

    @Test("strategies for dates, integers and keys")
    func strategies() throws {
        struct Window: Codable, Equatable {
            var windowTitle: String
            var width: Int
            var opened: Date
        }
        let window = Window(windowTitle: "Main", width: 3, opened: Date(timeIntervalSince1970: 10))
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .secondsSince1970
        let value = try encoder.encode(window) as Any
        #expect(try PropertyList(any: value) == PropertyList(any: ["window_title": "Main", "width": 3, "opened": 10]))
        var decoder = KeyValueDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        decoder.intDecodingStrategy = .rounding(rule: .toNearestOrAwayFromZero)
        let loose: [String: Any] = ["window_title": "Main", "width": 2.6, "opened": 10]
        #expect(try decoder.decode(Window.self, from: loose) == window)
    }

    @Test("UserDefaults holds what a person can read")
    func userDefaults() throws {
        let name = "org.example.story4.\(ProcessInfo.processInfo.processIdentifier)"
        let defaults = try #require(UserDefaults(suiteName: name))
        defer { defaults.removePersistentDomain(forName: name) }
        try defaults.encode(Settings(), forKey: "settings")
        #expect(defaults.dictionary(forKey: "settings")?["theme"] as? String == "dark")
        #expect(try defaults.decode(Settings.self, forKey: "settings") == Settings())
        #expect(try defaults.decode(Settings.self, forKey: "absent") == nil)
    }

    @Test("and so does the store")
    func store() throws {
        let store = try memoryStore()
        try store.encode(Settings(), forKey: "settings")
        #expect(try store.value(forKey: "settings") == PropertyList(any: readable))
        #expect(try store.decode(Settings.self, forKey: "settings") == Settings())
        #expect(try store.decode(Settings.self, forKey: "absent") == nil)
    }
}
