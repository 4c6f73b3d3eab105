import KeyValueCoding
import PropertyLists
import Testing

/// Decoding over defaults: what is missing in the tree has the value at the same place in them.
@Suite struct DefaultsTests {
    struct Frame: Codable, Equatable { var width = 640, height = 480 }

    enum Shape: Codable, Equatable {
        case circle(radius: Double, note: String?)
        case empty
    }

    struct Window: Codable, Equatable {
        var title = "Main"
        var frame = Frame()
        var note: String? = "new"
        var tabs = ["a", "b"]
        var levels = ["x": 1, "y": 2]
        var frames = ["main": Frame(width: 1, height: 2)]
        var shape = Shape.circle(radius: 1, note: "default")
        var last: Frame? = Frame(width: 3, height: 4)
    }

    private func window(_ list: PropertyList) throws -> Window {
        try KeyValueDecoder().decode(from: list, defaults: Window())
    }

    @Test("structs are filled at every depth, and null is a value")
    func structs() throws {
        #expect(try window([:]) == Window())
        var expected = Window()
        expected.frame.width = 5
        expected.note = nil
        #expect(try window(["frame": ["width": 5], "note": "$null"]) == expected)
        expected = Window()
        expected.last = Frame(width: 9, height: 4)
        #expect(try window(["last": ["width": 9]]) == expected)
    }

    @Test("a dictionary has the entries of both, an array is one value")
    func collections() throws {
        var expected = Window()
        expected.levels = ["x": 5, "y": 2, "z": 3]
        expected.frames = ["main": Frame(width: 7, height: 2), "other": Frame(width: 8, height: 9)]
        expected.tabs = ["c"]
        #expect(
            try window([
                "levels": ["x": 5, "z": 3], "frames": ["main": ["width": 7], "other": ["width": 8, "height": 9]],
                "tabs": ["c"],
            ]) == expected)
        let keyed = try KeyValueDecoder().decode(
            from: ["1": 5], defaults: [1: 1, 2: 2], encoder: KeyValueEncoder())
        #expect(keyed == [1: 5, 2: 2])
    }

    @Test("an enum is the stored case alone, with the stored case's values alone")
    func enums() throws {
        var expected = Window()
        expected.shape = .empty
        #expect(try window(["shape": ["empty": [:]]]) == expected)
        expected.shape = .circle(radius: 2, note: nil)
        #expect(try window(["shape": ["circle": ["radius": 2.0]]]) == expected)
        #expect(
            try KeyValueDecoder().decode(from: ["empty": [:]], defaults: Shape.circle(radius: 1, note: nil)) == .empty)
    }

    @Test("keys of a type's own code are the stored ones, and its values are filled all the same")
    func keys() throws {
        struct Open: Codable, Equatable {
            var width = 1
            var keys: [String] = []
            init() {}
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                keys = container.allKeys.map(\.stringValue)
                width = try container.decode(Int.self, forKey: .width)
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(width, forKey: .width)
            }
            enum Keys: CodingKey { case width, height }
        }
        let open = try KeyValueDecoder().decode(from: ["height": 2], defaults: Open())
        #expect(open.keys == ["height"] && open.width == 1)
    }

    @Test("strategies hold for both, and left-over keys are those of the tree alone")
    func strategies() throws {
        struct Page: Codable, Equatable { var pageTitle = "Home", pageNumber = 1 }
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        var decoder = KeyValueDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.leftOverKeyDecodingStrategy = .throw
        let page = try decoder.decode(from: ["page_number": 2], defaults: Page(), encoder: encoder)
        #expect(page == Page(pageTitle: "Home", pageNumber: 2))
        let error = #expect(throws: DecodingError.self) {
            try decoder.decode(from: ["other": 2], defaults: Page(), encoder: encoder)
        }
        guard case .dataCorrupted(let context)? = error else { throw try #require(error) }
        #expect(context.debugDescription == "Keys are left over: SELF.other")
        decoder.keyDecodingStrategy = .custom { path in NameKey("page" + (path.last?.stringValue ?? "")) }
        encoder.keyEncodingStrategy = .custom { path in NameKey(String((path.last?.stringValue ?? "").dropFirst(4))) }
        #expect(try decoder.decode(from: ["Number": 2], defaults: Page(), encoder: encoder) == page)
    }

    @Test("a wrong value is an error with its path")
    func faults() throws {
        let error = #expect(throws: DecodingError.self) { try window(["frame": ["width": "wide"]]) }
        guard case .typeMismatch(_, let context)? = error else { throw try #require(error) }
        #expect(context.debugDescription.contains("at SELF.frame.width, found String"))
        #expect(throws: DecodingError.self) { try window(["frame": 5]) }
    }
}

private struct NameKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}
