import FoundationEssentials
import KeyValueCoding
import PropertyLists
import Testing

private enum Theme: String, Codable, Sendable { case light, dark }

private enum StandardTheme: DefaultSource {
    static var defaultValue: Theme { .dark }
}

private struct Item: Codable, Equatable, Sendable {
    var name: String
}

private struct Settings: Codable, Equatable {
    @Defaulted<StandardTheme> var theme: Theme
    @Default.True var isOn: Bool
    @Default.False var isHidden: Bool
    @Default.Zero var count: Int
    @Default.Zero var ratio: Double
    @Default.EmptyString var title: String
    @Default.Empty var tags: [String]
    @Default.EmptyDictionary var table: [String: Int]
    @Default.Empty var items: LossyArray<Item>
}

private struct Library: Codable, Equatable {
    @LossyArray var items: [Item]
    @LossyArray var numbers: [Int]
}

/// Decodes a value from an `Any`, by each of several coders.
private enum Coder: String, CaseIterable, Sendable {
    case any, tree, json, propertyList

    func decode<T: Decodable>(_ type: T.Type, from value: [String: Any]) throws -> T {
        let list = try PropertyList(any: value)
        switch self {
        case .any: return try KeyValueDecoder().decode(type, from: value)
        case .tree: return try KeyValueDecoder().decode(type, from: list)
        case .json: return try JSONDecoder().decode(type, from: Data(list.serialized(as: .json)))
        case .propertyList: return try PropertyListDecoder().decode(type, from: Data(list.serialized(as: .binary)))
        }
    }

    func roundTrip<T: Codable>(_ value: T) throws -> T {
        switch self {
        case .any: try KeyValueDecoder().decode(T.self, from: try KeyValueEncoder().encode(value) as Any)
        case .tree:
            try KeyValueDecoder().decode(T.self, from: #require(try KeyValueEncoder().encodeToPropertyList(value)))
        case .json: try JSONDecoder().decode(T.self, from: JSONEncoder().encode(value))
        case .propertyList: try PropertyListDecoder().decode(T.self, from: PropertyListEncoder().encode(value))
        }
    }
}

@Suite struct PropertyWrapperTests {
    @Test("a missing key gives the default, and says so", arguments: Coder.allCases)
    fileprivate func defaultsMissingKeys(coder: Coder) throws {
        let settings = try coder.decode(Settings.self, from: ["count": 3])
        #expect(settings.theme == .dark && settings.isOn && !settings.isHidden && settings.ratio == 0)
        #expect(settings.title == "" && settings.tags == [] && settings.table == [:])
        #expect(settings.items.wrappedValue == [] && settings.count == 3)
        #expect(settings.$theme.isMissing && settings.$tags.isMissing && settings.$items.isMissing)
        #expect(!settings.$count.isMissing)
    }

    @Test("a value that is there is the value", arguments: Coder.allCases)
    fileprivate func decodesValues(coder: Coder) throws {
        let settings = try coder.decode(
            Settings.self,
            from: [
                "theme": "light", "isOn": false, "isHidden": true, "count": 2, "ratio": 1.5, "title": "t",
                "tags": ["a"], "table": ["k": 1], "items": [["name": "i"], 7] as [Any],
            ])
        #expect(settings.theme == .light && !settings.isOn && settings.isHidden && settings.ratio == 1.5)
        #expect(settings.title == "t" && settings.tags == ["a"] && settings.table == ["k": 1])
        #expect(settings.items.wrappedValue == [Item(name: "i")] && settings.items.dropped.map(\.index) == [1])
        #expect(!settings.$theme.isMissing && !settings.$items.isMissing)
        #expect(try coder.roundTrip(settings) == settings)
    }

    @Test("nil gives the default, a value of another kind is an error")
    func rejectsOtherKinds() throws {
        let none: [String: Any] = ["count": Int?.none as Any]
        #expect(try KeyValueDecoder().decode(Settings.self, from: none).$count.isMissing)
        #expect(try KeyValueDecoder().decode(Settings.self, from: PropertyList(any: none)).$count.isMissing)
        #expect(try JSONDecoder().decode(Settings.self, from: Data(#"{"count":null}"#.utf8)).$count.isMissing)
        #expect(
            try KeyValueDecoder().decode([Default.Zero<Int>].self, from: none.map(\.value)).map(\.isMissing) == [true])
        #expect(
            failure { try KeyValueDecoder().decode(Settings.self, from: ["count": "x"]) }
                == "typeMismatch SELF.count: Expected BinaryInteger at SELF.count, found String")
        #expect(
            failure { try KeyValueDecoder().decode(Settings.self, from: ["theme": "blue"]) }
                .hasPrefix("dataCorrupted SELF.theme: "))
    }

    @Test("elements that cannot be decoded are left out and reported", arguments: Coder.allCases)
    fileprivate func dropsElements(coder: Coder) throws {
        let value: [String: Any] = [
            "items": [["name": "a"], "b", ["name": 1], [String: Any](), ["name": "e"], [["x"]]] as [Any],
            "numbers": [1, "two", 3, [4], 5.5],
        ]
        let library = try coder.decode(Library.self, from: value)
        #expect(library.items == [Item(name: "a"), Item(name: "e")] && library.numbers == [1, 3])
        #expect(library.$items.map(\.index) == [1, 2, 3, 5] && library.$numbers.map(\.index) == [1, 3, 4])
        #expect(library.$items.allSatisfy { $0.error is DecodingError })
        #expect(try coder.roundTrip(library) == library)
    }

    @Test("the report has each element's own error")
    func reportsErrors() throws {
        let value: [String: Any] = ["items": [["name": 1], ["name": "b"], [:]], "numbers": [true] as [Any]]
        let expected = [
            "typeMismatch SELF.items[0].name: Expected String at SELF.items[0].name, found Int",
            "keyNotFound SELF.items[2]: Dictionary does not contain key SELF.items[2].name",
        ]
        let library = try KeyValueDecoder().decode(Library.self, from: value)
        #expect(library.$items.map { report($0.error) } == expected)
        #expect(library.$numbers.map(\.description) == ["[0]: Expected BinaryInteger at SELF.numbers[0], found Bool"])
        let fromTree = try KeyValueDecoder().decode(Library.self, from: PropertyList(any: value))
        #expect(fromTree.$items.map { report($0.error) } == expected)
    }

    @Test("a nil element is left out, too")
    func dropsNil() throws {
        let value: [String: Any] = ["items": [Int?.none as Any, ["name": "a"]], "numbers": [Any]()]
        #expect(try KeyValueDecoder().decode(Library.self, from: value).$items.map(\.index) == [0])
        let json = Data(#"{"items":[null,{"name":"a"}],"numbers":[1,null]}"#.utf8)
        let library = try JSONDecoder().decode(Library.self, from: json)
        #expect(library.$items.map(\.index) == [0] && library.$numbers.map(\.index) == [1] && library.numbers == [1])
        let behind: [Any] = ["x", Int?.none as Any, 2]
        let numbers = try KeyValueDecoder().decode(LossyArray<Int>.self, from: behind)
        #expect(numbers.wrappedValue == [2] && numbers.dropped.map(\.index) == [0, 1])
    }

    @Test("what is no array, and a missing key, are errors")
    func rejectsOtherThanArrays() {
        #expect(
            failure { try KeyValueDecoder().decode(Library.self, from: ["items": 1, "numbers": [1]]) }
                == "typeMismatch SELF.items: Expected Array<Any> at SELF.items, found Int")
        #expect(
            failure { try KeyValueDecoder().decode(Library.self, from: ["items": [Int]()]) }
                == "keyNotFound SELF: Dictionary does not contain key SELF.numbers")
    }

    @Test("wrapped values are equal, hashed and made as the values are")
    func comparesValues() {
        #expect(LossyArray(wrappedValue: [1]) == [1] && Set([[1], [1]] as [LossyArray<Int>]).count == 1)
        #expect(Default.Zero<Int>() == Default.Zero(wrappedValue: 0) && !Default.Zero<Int>().isMissing)
        #expect(Set([Default.Zero<Int>(), Default.Zero(wrappedValue: 0)]).count == 1)
        #expect(Set((0..<100).map { Default.Zero(wrappedValue: $0).hashValue }).count > 90)
        #expect(Set((0..<100).map { LossyArray(wrappedValue: [$0]).hashValue }).count > 90)
    }
}
