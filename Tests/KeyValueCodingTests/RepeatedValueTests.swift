import KeyValueCoding
import PropertyLists
import Testing

/// Keys of every length that is compared in its own way, and optionals that move the keys behind them.
private struct Entry: Codable, Equatable {
    struct Inner: Codable, Equatable {
        var x: Int
        var sixteenBytesLong: String?
    }

    var a: Int?
    var eight888: Double?
    var nine99999: Bool?
    var aNameThatIsLongerThanSixteenBytes: String?
    var aNameThatIsLongerThanSixteenBytesToo: [String]?
    var naive: Inner?
    var z: [Inner]?

    enum CodingKeys: String, CodingKey {
        case a, eight888, nine99999, aNameThatIsLongerThanSixteenBytes, aNameThatIsLongerThanSixteenBytesToo, z
        case naive = "naïve"
    }

    static let names = [
        "a", "eight888", "nine99999", "aNameThatIsLongerThanSixteenBytes", "aNameThatIsLongerThanSixteenBytesToo",
        "naïve", "z", "other", "aa",
    ]
}

/// Keeps the containers that it is decoded from, as no type should.
private struct Hoarder: Decodable {
    enum Keys: CodingKey { case number, next }
    final class Hoard: @unchecked Sendable { var containers: [KeyedDecodingContainer<Keys>] = [] }

    static var key: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "hoard") }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        let key = try #require(Self.key)
        let hoard = try #require(decoder.userInfo[key] as? Hoard)
        hoard.containers.append(container)
        _ = try container.decodeIfPresent(Hoarder.self, forKey: .next)
    }
}

/// The same numbers each time.
private struct Steps: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 32
    }
}

/// An element of which few fit into the memory that is taken at once.
private struct Wide: Decodable {
    var number: Int
    var filling = InlineArray<511, Int>(repeating: 0)
    enum CodingKeys: CodingKey { case number }
}

private final class Chain: Codable {
    var value: Int
    var next: Chain?
    init(_ value: Int, _ next: Chain?) { (self.value, self.next) = (value, next) }
}

@Suite struct RepeatedValueTests {
    /// Values of every kind, those that fit each key among them.
    private static var values: [Any] {
        [
            1, -2, 0.5, true, "", "x", "a text that is longer than fifteen bytes", ["s", "t"], [Any](), ["x": 1],
            ["x": 2, "y": 3, "sixteenBytesLong": "é"], [["x": 1], ["x": "y"]], [["x": 3]],
        ]
    }

    private static let fitting: [String: [Int]] = [
        "a": [0, 1], "eight888": [2], "nine99999": [3], "aNameThatIsLongerThanSixteenBytes": [4, 5, 6],
        "aNameThatIsLongerThanSixteenBytesToo": [7, 8], "naïve": [9, 10], "z": [8, 12],
    ]

    @Test("dictionaries of every shape in one array are read from the tree as from Any")
    func readsChangingShapes() throws {
        var random = Steps(state: 1)
        var errors = 0
        for _ in 0..<500 {
            let elements = (0..<8).map { _ in
                var entries: [String: Any] = [:]
                for name in Entry.names where Bool.random(using: &random) {
                    let isAny = Int.random(in: 0..<60, using: &random) == 0
                    let choices = isAny ? nil : Self.fitting[name]
                    let index = choices?.randomElement(using: &random) ?? Int.random(in: 0..<13, using: &random)
                    entries[name] = Self.values[index]
                }
                return entries
            }
            let list = try PropertyList(any: elements)
            let fromAny = Result { try KeyValueDecoder().decode([Entry].self, from: list.any()) }
            let fromTree = Result { try KeyValueDecoder().decode([Entry].self, from: list) }
            if case .success(let first) = fromAny, case .success(let second) = fromTree {
                try #require(first == second)
            } else {
                errors += 1
                try #require(failure { try fromAny.get() } == failure { try fromTree.get() })
            }
        }
        #expect(100..<400 ~= errors)
    }

    @Test("a container that is kept reads its own value", arguments: [true, false])
    func leavesKeptContainers(isTree: Bool) throws {
        let value = (0..<40).map { ["number": $0, "next": ["number": -$0]] as [String: Any] }
        let hoard = Hoarder.Hoard()
        var decoder = KeyValueDecoder()
        let key = try #require(Hoarder.key)
        decoder.userInfo[key] = hoard
        if isTree {
            _ = try decoder.decode([Hoarder].self, from: PropertyList(any: value))
        } else {
            _ = try decoder.decode([Hoarder].self, from: value)
        }
        let numbers = hoard.containers.map { try? $0.decode(Int.self, forKey: .number) }
        #expect(numbers == (0..<40).flatMap { [$0, -$0] })
        hoard.containers = []  // They know the decoder, whose userInfo has the hoard.
    }

    @Test("nothing of a value stays in memory after it was read, or failed to be")
    func keepsNothing() throws {
        for isWrong in [false, true] {
            weak var document: AnyObject?
            try autoreleasing {
                let wrong: Any = isWrong ? "text" : 1
                let value = [["a": 1, "naïve": ["x": 1], "z": [["x": 1], ["x": 1], ["x": wrong]]]] as [Any]
                let list = try PropertyList(any: value + value + value)
                document = list.document
                #expect((try? KeyValueDecoder().decode([Entry].self, from: list))?.count == (isWrong ? nil : 3))
            }
            #expect(document == nil)
        }
    }

    private func autoreleasing(_ body: () throws -> Void) rethrows { try body() }

    @Test("values inside values of one type are read, more of them than containers are kept")
    func readsChains() throws {
        let chain = (1...100).reduce(Chain(0, nil)) { Chain($1, $0) }
        let list = try #require(try KeyValueEncoder().encodeToPropertyList([chain, chain]))
        for read in try KeyValueDecoder().decode([Chain].self, from: list) {
            var values: [Int] = []
            var link: Chain? = read
            while let current = link {
                values.append(current.value)
                link = current.next
            }
            #expect(values == Array((0...100).reversed()))
        }
    }

    @Test("an array that is too large to make room for at once is read step by step")
    func readsLargeArrays() throws {
        let value = (0..<4200).map { ["number": $0] }
        #expect(value.count * MemoryLayout<Wide>.stride > 1 << 24)
        let wide = try KeyValueDecoder().decode([Wide].self, from: PropertyList(any: value))
        #expect(wide.map(\.number) == Array(0..<4200))
    }

    @Test("an error inside values that are read one after another has its own path")
    func tellsPaths() throws {
        let value: [Any] = [["naïve": ["x": 1]], ["naïve": ["x": 1], "z": [["x": 1], ["x": "y"]]]]
        let expected = "typeMismatch SELF[1].z[1].x: Expected BinaryInteger at SELF[1].z[1].x, found String"
        #expect(failure { try KeyValueDecoder().decode([Entry].self, from: value) } == expected)
        #expect(failure { try KeyValueDecoder().decode([Entry].self, from: PropertyList(any: value)) } == expected)
    }

    @Test("an error after values that were written one after another has its own path")
    func tellsPathsWritten() throws {
        struct Inner: Encodable { var x = 1 }
        struct Reading: Encodable {
            var inner = Inner()
            var inners = [Inner(), Inner()]
            var value = 0.5
        }
        let readings = ["all": [Reading(), Reading(value: .nan)]]
        var encoder = KeyValueEncoder()
        encoder.nonConformingFloatEncodingStrategy = .throw
        let expected =
            "invalidValue SELF.all[1].value: Double at SELF.all[1].value cannot be encoded. nan is not a finite number"
        #expect(failure { try encoder.encode(readings) } == expected)
        #expect(failure { try encoder.encodeToPropertyList(readings) } == expected)
    }

    @Test("the path in a value is made of the keys themselves")
    func keepsKeyTypes() throws {
        struct Path: Decodable {
            let path: [any CodingKey]
            init(from decoder: any Decoder) { path = decoder.codingPath }
        }
        struct Outer: Decodable {
            var inner: Path
            enum CodingKeys: Int, CodingKey { case inner = 7 }
        }
        let list = try PropertyList(any: [["inner": 1]])
        let path = try KeyValueDecoder().decode([Outer].self, from: list)[0].inner.path
        #expect(path.map(\.intValue) == [0, 7])
        #expect(path.map(\.stringValue) == ["Index 0", "inner"])
        #expect(path.last is Outer.CodingKeys)
    }
}
