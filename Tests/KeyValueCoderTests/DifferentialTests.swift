import Foundation
import KeyValueCoder
import PropertyLists
import Testing

/// A value of every shape, made from a seed.
private struct Sample: Codable, Equatable {
    enum Choice: Codable, Equatable {
        case none
        case one(Int)
        case two(name: String, Bool)
    }

    var integer: Int
    var byte: UInt8
    var double: Double
    var flag: Bool
    var text: String
    var bytes: Data
    var date: Date
    var optional: Int?
    var list: [String]
    var table: [String: Int]
    var numbered: [Int: String]
    var flat: [Bool: Int]
    var choice: Choice
    var children: [Sample]
}

private final class Derived: Base {
    var extra: [Int]

    init(_ name: String, _ extra: [Int]) {
        self.extra = extra
        super.init(name)
    }

    private enum CodingKeys: CodingKey { case extra }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        extra = try container.decode([Int].self, forKey: .extra)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(extra, forKey: .extra)
        try super.encode(to: container.superEncoder())
    }
}

private class Base: Codable {
    var name: String
    init(_ name: String) { self.name = name }
}

/// SplitMix64: the same values from the same seed on every machine.
private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func text() -> String {
        let letters: [Character] = ["a", "Z", "0", " ", ".", "é", "😀", "\"", "<", "\n"]
        return String(
            (0..<Int.random(in: 0...6, using: &self)).map { _ in letters[Int.random(in: 0..<10, using: &self)] })
    }

    mutating func many<T>(_ make: (inout Seeded) -> T) -> [T] {
        (0..<Int.random(in: 0...3, using: &self)).map { _ in make(&self) }
    }

    mutating func sample(depth: Int) -> Sample {
        Sample(
            integer: Int(truncatingIfNeeded: next() >> UInt64.random(in: 0...63, using: &self)),
            byte: UInt8(truncatingIfNeeded: next()), double: Double.random(in: -1e6...1e6, using: &self),
            flag: Bool.random(using: &self), text: text(), bytes: Data(many { UInt8(truncatingIfNeeded: $0.next()) }),
            date: Date(timeIntervalSinceReferenceDate: Double(Int32(truncatingIfNeeded: next()))),
            optional: Bool.random(using: &self) ? nil : Int(Int16(truncatingIfNeeded: next())),
            list: many { $0.text() },
            table: Dictionary(many { ($0.text(), Int(Int8(truncatingIfNeeded: $0.next()))) }) { first, _ in first },
            numbered: Dictionary(many { (Int(Int8(truncatingIfNeeded: $0.next())), $0.text()) }) { first, _ in first },
            // One entry: the order of a flat dictionary is not the same twice.
            flat: [Bool.random(using: &self): 1], choice: choice(),
            children: depth > 0 ? many { $0.sample(depth: depth - 1) } : [])
    }

    private mutating func choice() -> Sample.Choice {
        switch Int.random(in: 0..<3, using: &self) {
        case 0: .none
        case 1: .one(Int(Int32(truncatingIfNeeded: next())))
        default: .two(name: text(), Bool.random(using: &self))
        }
    }
}

@Suite struct DifferentialTests {
    /// How many values are compared: KVCODABLE_CASES, or 2,000.
    private var cases: Int {
        ProcessInfo.processInfo.environment["KVCODABLE_CASES"].flatMap { Int($0) } ?? 2000
    }

    @Test("what Foundation's property-list coders write and read, these do")
    func agreesWithFoundation() throws {
        for seed in 0..<cases {
            var random = Seeded(state: UInt64(seed))
            let sample = random.sample(depth: 1)
            let theirs = try PropertyListSerialization.propertyList(
                from: PropertyListEncoder().encode(sample), format: nil)
            let ours = try #require(try KeyValueEncoder().encode(sample))
            let tree = try #require(try KeyValueEncoder().encodeToPropertyList(sample)).any()
            try #require(isEqual(theirs, ours), "seed \(seed)")
            try #require(isEqual(theirs, tree), "seed \(seed)")
            try #require(try KeyValueDecoder().decode(Sample.self, from: theirs) == sample, "seed \(seed)")
            let data = try PropertyListSerialization.data(fromPropertyList: ours, format: .binary, options: 0)
            try #require(try PropertyListDecoder().decode(Sample.self, from: data) == sample, "seed \(seed)")
        }
    }

    @Test("a class hierarchy is written as Foundation writes it")
    func agreesOnClasses() throws {
        let value = Derived("a", [1, 2])
        let theirs = try PropertyListSerialization.propertyList(from: PropertyListEncoder().encode(value), format: nil)
        #expect(isEqual(theirs, try #require(try KeyValueEncoder().encode(value))))
        #expect(try KeyValueDecoder().decode(Derived.self, from: theirs).extra == [1, 2])
    }

    /// By Foundation's own equality, after both have been through a property-list file: its numbers have no width.
    private func isEqual(_ left: Any, _ right: Any) -> Bool {
        func canonical(_ value: Any) -> NSObject? {
            let data = try? PropertyListSerialization.data(fromPropertyList: value, format: .binary, options: 0)
            return data.flatMap { try? PropertyListSerialization.propertyList(from: $0, format: nil) as? NSObject }
        }
        if let left = left as? [String: Any], let right = right as? [String: Any] {
            return NSDictionary(dictionary: left).isEqual(to: right) || canonical(left) == canonical(right)
        }
        return canonical(left) == canonical(right)
    }
}
