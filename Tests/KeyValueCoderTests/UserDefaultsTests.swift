import Foundation
import KeyValueCoder
import Testing

@Suite final class UserDefaultsTests {
    private struct Settings: Codable, Equatable {
        var name = "a"
        var link = URL(string: "https://a.b/c?d=e")
        var price = Decimal(string: "12345678901234567.25")
        var id = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
        var on = true
        var one = 1
        var small: Int8 = 1
        var ratio: Float = 0.25
        var when = Date(timeIntervalSinceReferenceDate: 5)
        var data = Data([1])
        var holes: [Int?] = [1, nil]
        var text = "$null"
    }

    private let suite = "kvcodable.tests.\(UUID().uuidString)"
    private let defaults: UserDefaults

    init() throws {
        defaults = try #require(UserDefaults(suiteName: suite))
    }

    deinit {
        defaults.removePersistentDomain(forName: suite)
    }

    @Test("a struct with every kind of value is stored as a dictionary and read back")
    func roundTripsStruct() throws {
        try defaults.encode(Settings(), forKey: "settings")
        #expect(try defaults.decode(Settings.self, forKey: "settings") == Settings())
        let stored = try #require(defaults.dictionary(forKey: "settings"))
        #expect(stored["link"] as? String == "https://a.b/c?d=e")
        #expect(stored["price"] as? String == "12345678901234567.25")
        let holes = try #require(stored["holes"] as? [Any])
        #expect(holes.count == 2 && holes[0] as? Int == 1 && holes[1] as? String == "$null")
    }

    @Test("a struct survives the property-list file that UserDefaults keeps")
    func survivesFile() throws {
        try defaults.encode(Settings(), forKey: "settings")
        let stored = try #require(defaults.dictionary(forKey: "settings"))
        let data = try PropertyListSerialization.data(fromPropertyList: stored, format: .binary, options: 0)
        let again = try PropertyListSerialization.propertyList(from: data, format: nil)
        defaults.set(again, forKey: "again")
        #expect(try defaults.decode(Settings.self, forKey: "again") == Settings())
        defaults.set(
            try PropertyListSerialization.propertyList(
                from: PropertyListSerialization.data(fromPropertyList: [1], format: .xml, options: 0), format: nil),
            forKey: "one")
        #expect(text { try self.defaults.decode([Bool].self, forKey: "one") }.hasPrefix("Expected Bool at SELF[0]"))
    }

    @Test("a missing key gives nil, and nil removes the key")
    func removesNil() throws {
        #expect(try defaults.decode([Int].self, forKey: "a") == nil)
        try defaults.encode([1], forKey: "a")
        #expect(try defaults.decode([Int].self, forKey: "a") == [1])
        try defaults.encode([Int]?.none, forKey: "a")
        #expect(defaults.object(forKey: "a") == nil)
    }

    @Test("a string that reads $null is a string")
    func keepsNullText() throws {
        try defaults.encode("$null", forKey: "a")
        #expect(try defaults.decode(String.self, forKey: "a") == "$null")
        try defaults.encode(Optional("$null"), forKey: "b")
        #expect(defaults.string(forKey: "b") == "$null")
    }

    @Test("a decimal number at the top keeps its digits")
    func keepsDecimal() throws {
        try defaults.encode(Decimal(string: "1.5"), forKey: "a")
        #expect(try defaults.decode(Decimal.self, forKey: "a") == Decimal(string: "1.5"))
    }

    @Test("the native types use the native getters")
    func usesNativeGetters() throws {
        defaults.set("YES", forKey: "yes")
        #expect(try defaults.decode(Bool.self, forKey: "yes") == true)
        defaults.set("2", forKey: "two")
        #expect(try defaults.decode(Int.self, forKey: "two") == 2)
        #expect(try defaults.decode(Double.self, forKey: "two") == 2)
        #expect(try defaults.decode(Float.self, forKey: "two") == 2)
        #expect(try defaults.decode(String.self, forKey: "two") == "2")
        #expect(
            text { try self.defaults.decode(Int8.self, forKey: "two") }
                == "Expected BinaryInteger at SELF, found String")
        #expect(text { try self.defaults.decode(Bool?.self, forKey: "two") } == "Expected Bool at SELF, found String")
    }

    @Test("a number inside a stored value is no Bool")
    func keepsNumbers() throws {
        defaults.set(["on": NSNumber(value: 1)], forKey: "flags")
        #expect(
            text { try self.defaults.decode([String: Bool].self, forKey: "flags") }.hasPrefix(
                "Expected Bool at SELF.on"))
        #expect(try defaults.decode([String: Int].self, forKey: "flags") == ["on": 1])
    }

    @Test("a URL is stored whole", arguments: ["https://a.b/c?d=e", "file:///tmp/a%20b", "mailto:a@b.c"])
    func storesURL(text: String) throws {
        let url = try #require(URL(string: text))
        try defaults.encode(url, forKey: "url")
        #expect(try defaults.decode(URL.self, forKey: "url") == url)
    }

    @Test("a path is a file's URL, as the native getter has it")
    func readsPath() throws {
        defaults.set("/tmp/a", forKey: "path")
        #expect(try defaults.decode(URL.self, forKey: "path")?.path == "/tmp/a")
    }
}
