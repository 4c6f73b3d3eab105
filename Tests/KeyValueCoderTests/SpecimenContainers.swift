import Foundation

// Types that write and read their containers by hand, and classes.

/// Nested containers of both kinds, written to out of order, and super encoders in all of them.
struct Manual: Specimen {
    private enum Keys: String, CodingKey {
        case keyed, unkeyed
        case own = "super"
        case named, inner, deep, late, two, null
    }

    var inner: Int
    var late: String
    var elements: [Int]
    var deep: Bool
    var parent: Double
    var named: [String]

    init(_ inner: Int, _ late: String, _ elements: [Int], _ deep: Bool, _ parent: Double, _ named: [String]) {
        (self.inner, self.late, self.elements) = (inner, late, elements)
        (self.deep, self.parent, self.named) = (deep, parent, named)
    }

    static func make(_ random: inout Seeded) -> Manual {
        Manual(
            random.integer(), random.text(), random.many { $0.integer() }, random.flag(), random.real(),
            random.many { $0.text() })
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var keyed = container.nestedContainer(keyedBy: Keys.self, forKey: .keyed)
        var unkeyed = container.nestedUnkeyedContainer(forKey: .unkeyed)
        try container.encode(late, forKey: .late)
        try unkeyed.encode(inner)
        var deepest = unkeyed.nestedContainer(keyedBy: Keys.self)
        var list = unkeyed.nestedUnkeyedContainer()
        try named.encode(to: unkeyed.superEncoder())
        try unkeyed.encodeNil()
        try deepest.encode(deep, forKey: .deep)
        try list.encode(contentsOf: elements)
        try keyed.encode(inner, forKey: .inner)
        try keyed.encodeNil(forKey: .null)
        try parent.encode(to: SuperWriter(keyed.superEncoder()).encoder)
        try [parent].encode(to: container.superEncoder())
        try named.encode(to: container.superEncoder(forKey: .named))
        var again = encoder.container(keyedBy: Keys.self)
        try again.encode(elements.count, forKey: .two)
    }

    /// Keeps a super encoder for a moment, as code does that writes to it later.
    private struct SuperWriter {
        let encoder: any Encoder
        init(_ encoder: any Encoder) { self.encoder = encoder }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        let keyed = try container.nestedContainer(keyedBy: Keys.self, forKey: .keyed)
        var unkeyed = try container.nestedUnkeyedContainer(forKey: .unkeyed)
        inner = try unkeyed.decode(Int.self)
        deep = try unkeyed.nestedContainer(keyedBy: Keys.self).decode(Bool.self, forKey: .deep)
        var list = try unkeyed.nestedUnkeyedContainer()
        elements = []
        while !list.isAtEnd { elements.append(try list.decode(Int.self)) }
        named = try [String](from: unkeyed.superDecoder())
        let isNil = try unkeyed.decodeNil()
        let nulls = try keyed.contains(.null) && keyed.decodeNil(forKey: .null)
        parent = try Double(from: keyed.superDecoder())
        late = try container.decode(String.self, forKey: .late)
        let count = try container.decode(Int.self, forKey: .two)
        guard isNil, nulls, unkeyed.isAtEnd, count == elements.count,
            try [Double](from: container.superDecoder()) == [parent],
            try [String](from: container.superDecoder(forKey: .named)) == named,
            try keyed.decode(Int.self, forKey: .inner) == inner
        else {
            throw DecodingError.dataCorruptedError(
                forKey: .two, in: container, debugDescription: "not what was written")
        }
    }
}

/// Three classes, each of which writes its part: under "super", under a key of its own, and without a container.
class Living: Codable, Equatable {
    var name: String
    init(_ name: String) { self.name = name }

    func isEqual(_ other: Living) -> Bool { name == other.name }
    static func == (left: Living, right: Living) -> Bool { left.isEqual(right) }
}

class Animal: Living {
    var legs: Int
    private enum CodingKeys: CodingKey { case legs }

    init(_ name: String, _ legs: Int) {
        self.legs = legs
        super.init(name)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        legs = try container.decode(Int.self, forKey: .legs)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try super.encode(to: container.superEncoder())
        try container.encode(legs, forKey: .legs)
    }

    override func isEqual(_ other: Living) -> Bool {
        super.isEqual(other) && (other as? Animal)?.legs == legs
    }
}

final class Dog: Animal, Specimen {
    var toys: [String]
    var friend: Dog?
    private enum CodingKeys: CodingKey { case toys, friend, animal }

    init(_ name: String, _ legs: Int, _ toys: [String], _ friend: Dog?) {
        self.toys = toys
        self.friend = friend
        super.init(name, legs)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        toys = try container.decode([String].self, forKey: .toys)
        friend = try container.decodeIfPresent(Dog.self, forKey: .friend)
        try super.init(from: container.superDecoder(forKey: .animal))
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(toys, forKey: .toys)
        try container.encodeIfPresent(friend, forKey: .friend)
        try super.encode(to: container.superEncoder(forKey: .animal))
    }

    override func isEqual(_ other: Living) -> Bool {
        guard let other = other as? Dog else { return false }
        return super.isEqual(other) && toys == other.toys && friend == other.friend
    }

    static func make(_ random: inout Seeded) -> Dog {
        Dog(
            random.text(), random.integer(), random.many { $0.text() },
            random.maybe { Dog($0.text(), $0.integer(), $0.many { $0.text() }, nil) })
    }
}
