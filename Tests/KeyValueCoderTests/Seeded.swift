import Foundation
import TestSupport

/// The same values from the same seed on every machine.
struct Seeded: RandomNumberGenerator {
    private var numbers: SeededGenerator

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func text() -> String {
        let letters: [Character] = ["a", "Z", "0", " ", ".", "é", "😀", "\"", "<", "\n"]
        return String(
            (0..<Int.random(in: 0...6, using: &self)).map { _ in letters[Int.random(in: 0..<10, using: &self)] })
    }

    mutating func flag() -> Bool { Bool.random(using: &self) }

    /// An integer of any size.
    mutating func integer<I: FixedWidthInteger>(_ type: I.Type = I.self) -> I {
        I(truncatingIfNeeded: Int64(bitPattern: next()) >> Int64.random(in: 0...63, using: &self))
    }

    mutating func real() -> Double {
        switch Int.random(in: 0..<4, using: &self) {
        case 0: Double(Int8(truncatingIfNeeded: next()))
        case 1: Double.random(in: -1...1, using: &self)
        case 2: Double.random(in: -1e300...1e300, using: &self)
        default: Double(integer(Int32.self)) / 8
        }
    }

    mutating func date() -> Date { Date(timeIntervalSinceReferenceDate: Double(Int32(truncatingIfNeeded: next()))) }

    mutating func data() -> Data { Data(many { UInt8(truncatingIfNeeded: $0.next()) }) }

    mutating func id() -> UUID {
        let bytes = (next(), next())
        return withUnsafeBytes(of: bytes) { UUID(uuid: $0.load(as: uuid_t.self)) }
    }

    mutating func maybe<T>(_ make: (inout Seeded) -> T) -> T? { flag() ? make(&self) : nil }

    mutating func many<T>(_ make: (inout Seeded) -> T) -> [T] {
        (0..<Int.random(in: 0...3, using: &self)).map { _ in make(&self) }
    }

    mutating func table<Key: Hashable, Value>(
        _ key: (inout Seeded) -> Key, _ value: (inout Seeded) -> Value
    ) -> [Key: Value] {
        Dictionary(many { (key(&$0), value(&$0)) }) { first, _ in first }
    }

    mutating func one<T>(of choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &self)] }
}

/// A type whose values are made from a seed.
protocol Specimen: Codable, Equatable, SendableMetatype {
    static func make(_ random: inout Seeded) -> Self
}
