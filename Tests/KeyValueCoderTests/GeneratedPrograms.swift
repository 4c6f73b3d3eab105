import Foundation
import KeyValueCoder
import PropertyLists

/// A key of any name.
struct NameOfStep: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// Encodes itself by calls that are drawn from a seed: values, nils, nested and super containers in every order, written
/// to again after others were begun.
///
/// A program that misuses its encoder asks for containers of several kinds, under the same keys, swallows failures and
/// writes to encoders whose value is finished: what Foundation's encoders end the program for.
struct EncodingProgram: Encodable {
    struct Failure: Error {}
    /// Dictionaries that were kept, most of them of values that are finished. Of an array the order of elements would be
    /// each side's own, where one is written while another is.
    final class Kept {
        var tables: [KeyedEncodingContainer<NameOfStep>] = []
    }

    var seed: UInt64
    var misuses = false
    var depth = 0
    var kept = Kept()

    func encode(to encoder: any Encoder) throws {
        var random = Seeded(seed: seed)
        let kinds = misuses && random.one(of: [true, false, false]) ? 2 : 1
        for _ in 0..<kinds {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: try alone(encoder, &random)
            case 1: try write([], [encoder.unkeyedContainer()], &random)
            default: try write([encoder.container(keyedBy: NameOfStep.self)], [], &random)
            }
        }
        if misuses && Int.random(in: 0..<4, using: &random) == 0 { throw Failure() }
    }

    private func inner(_ random: inout Seeded) -> EncodingProgram {
        EncodingProgram(seed: random.next(), misuses: misuses, depth: depth + 1, kept: kept)
    }

    private func alone(_ encoder: any Encoder, _ random: inout Seeded) throws {
        var container = encoder.singleValueContainer()
        for _ in 0..<(misuses ? Int.random(in: 0...2, using: &random) : 1) {
            switch Int.random(in: 0..<5, using: &random) {
            case 0: try container.encodeNil()
            case 1: try container.encode(random.text())
            case 2: try container.encode([random.next() >> 2])
            case 3 where depth < 4: try swallowing { try container.encode(inner(&random)) }
            default: try container.encode(Int8(truncatingIfNeeded: random.next()))
            }
        }
    }

    private func swallowing(_ body: () throws -> Void) throws {
        if misuses { try? body() } else { try body() }
    }

    /// Writes to the containers that are open, in any order, and opens more.
    private func write(
        _ tables: [KeyedEncodingContainer<NameOfStep>], _ lists: [any UnkeyedEncodingContainer],
        _ random: inout Seeded
    ) throws {
        var (tables, lists) = (tables, lists)
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            if lists.isEmpty || !tables.isEmpty && random.flag() {
                try step(&tables, Int.random(in: 0..<tables.count, using: &random), &lists, &random)
            } else {
                try step(&lists, Int.random(in: 0..<lists.count, using: &random), &tables, &random)
            }
            if misuses { try meddle(&random) }
        }
        if misuses && random.flag() { kept.tables += tables }
    }

    private func meddle(_ random: inout Seeded) throws {
        guard Int.random(in: 0..<8, using: &random) == 0 else { return }
        if !kept.tables.isEmpty {
            var table = random.one(of: kept.tables)
            try? table.encode(random.text(), forKey: NameOfStep("late"))
        }
    }

    /// Foundation's encoders end the program where one key has several kinds: the kind is part of the name.
    private func key(_ kind: String, _ random: inout Seeded) -> NameOfStep {
        NameOfStep((misuses ? "" : kind) + random.one(of: ["a", "b", "c"]))
    }

    private func step(
        _ tables: inout [KeyedEncodingContainer<NameOfStep>], _ index: Int,
        _ lists: inout [any UnkeyedEncodingContainer], _ random: inout Seeded
    ) throws {
        switch Int.random(in: 0..<9, using: &random) {
        case 0: try tables[index].encodeNil(forKey: key("value", &random))
        case 1: try tables[index].encode(random.integer(Int32.self), forKey: key("value", &random))
        case 2: try tables[index].encode([random.text()], forKey: key("value", &random))
        case 3: try tables[index].encodeIfPresent(random.maybe { $0.real() }, forKey: key("value", &random))
        case 4 where depth < 4:
            let (key, value) = (key("value", &random), inner(&random))
            try swallowing { try tables[index].encode(value, forKey: key) }
        case 5 where depth < 4:
            let encoder =
                random.flag() ? tables[index].superEncoder() : tables[index].superEncoder(forKey: key("super", &random))
            let value = inner(&random)
            try swallowing { try value.encode(to: encoder) }
        case 6:
            tables.append(tables[index].nestedContainer(keyedBy: NameOfStep.self, forKey: key("table", &random)))
        case 7: lists.append(tables[index].nestedUnkeyedContainer(forKey: key("list", &random)))
        default: try tables[index].encode(random.data(), forKey: key("value", &random))
        }
    }

    private func step(
        _ lists: inout [any UnkeyedEncodingContainer], _ index: Int,
        _ tables: inout [KeyedEncodingContainer<NameOfStep>], _ random: inout Seeded
    ) throws {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: try lists[index].encodeNil()
        case 1: try lists[index].encode(random.integer(UInt16.self))
        case 2: try lists[index].encode(["a": random.flag()])
        case 3 where depth < 4:
            let value = inner(&random)
            try swallowing { try lists[index].encode(value) }
        case 4 where depth < 4:
            let value = inner(&random)
            let encoder = lists[index].superEncoder()
            try swallowing { try value.encode(to: encoder) }
        case 5: tables.append(lists[index].nestedContainer(keyedBy: NameOfStep.self))
        case 6: lists.append(lists[index].nestedUnkeyedContainer())
        default: try lists[index].encode(random.date())
        }
    }
}

/// Reads by calls that are drawn from a seed, and notes what each gave; an error counts as one, whatever its words.
struct DecodingProgram: Decodable {
    var notes: [String] = []

    static var key: CodingUserInfoKey { CodingUserInfoKey(rawValue: "program") ?? CodingUserInfoKey(rawValue: "")! }

    init(from decoder: any Decoder) throws {
        let seed = decoder.userInfo[Self.key] as? UInt64 ?? 0
        // Each path has its own calls, which a failure elsewhere does not change.
        let pathSeed = decoder.codingPath.reduce(seed) { $0 &* 31 &+ UInt64($1.stringValue.utf8.count) }
        var random = Seeded(seed: pathSeed)
        for _ in 0..<2 { read(decoder, &random) }
        if Int.random(in: 0..<5, using: &random) == 0 { throw EncodingProgram.Failure() }
    }

    private mutating func note<T>(_ what: String, _ body: () throws -> T) {
        guard let value = try? body() else { return notes.append("\(what) fails") }
        notes.append("\(what) \((value as? DecodingProgram)?.notes.description ?? "\(value)")")
    }

    private mutating func read(_ decoder: any Decoder, _ random: inout Seeded) {
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            guard let container = try? decoder.container(keyedBy: NameOfStep.self) else { return notes.append("none") }
            read(container, &random, depth: 0)
        case 1:
            guard var container = try? decoder.unkeyedContainer() else { return notes.append("none") }
            read(&container, &random, depth: 0)
        default:
            guard let container = try? decoder.singleValueContainer() else { return notes.append("none") }
            note("nil") { container.decodeNil() }
            note("int") { try container.decode(Int.self) }
            // "$null" is a text to a type that wants one.
            if !container.decodeNil() { note("text") { try container.decode(String.self) } }
            note("list") { try container.decode([String: [Int]].self).count }
        }
    }

    private mutating func read(
        _ container: KeyedDecodingContainer<NameOfStep>, _ random: inout Seeded, depth: Int
    ) {
        let names = container.allKeys.map(\.stringValue).sorted()
        notes.append("\(names)")
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            let key = NameOfStep(random.one(of: names + ["none"]))
            let isThere = container.contains(key)
            switch Int.random(in: 0..<9, using: &random) {
            case 0: note("nil") { try container.decodeNil(forKey: key) }
            case 1: note("bool") { try container.decode(Bool.self, forKey: key) }
            case 2: note("uint8") { try container.decode(UInt8.self, forKey: key) }
            case 3: note("text") { try container.decodeIfPresent(String.self, forKey: key) as Any }
            case 4: note("value") { try container.decode(DecodingProgram.self, forKey: key) }
            case 5 where isThere:
                note("super") { try DecodingProgram(from: container.superDecoder(forKey: key)) }
            case 6 where depth < 4:
                guard let inner = try? container.nestedContainer(keyedBy: NameOfStep.self, forKey: key) else {
                    notes.append("no table")
                    continue
                }
                read(inner, &random, depth: depth + 1)
            case 7 where depth < 4:
                guard var inner = try? container.nestedUnkeyedContainer(forKey: key) else {
                    notes.append("no list")
                    continue
                }
                read(&inner, &random, depth: depth + 1)
            default: note("date") { try container.decodeIfPresent(Date.self, forKey: key) as Any }
            }
        }
    }

    private mutating func read(
        _ container: inout any UnkeyedDecodingContainer, _ random: inout Seeded, depth: Int
    ) {
        notes.append("\(container.count ?? -1)")
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: note("nil") { try container.decodeNil() }
            case 1: note("int") { try container.decode(Int.self) }
            case 2: note("real") { try container.decodeIfPresent(Double.self) as Any }
            case 3: note("value") { try container.decode(DecodingProgram.self) }
            case 4 where !container.isAtEnd: note("super") { try DecodingProgram(from: container.superDecoder()) }
            case 5 where depth < 4:
                guard let inner = try? container.nestedContainer(keyedBy: NameOfStep.self) else {
                    notes.append("no table")
                    continue
                }
                read(inner, &random, depth: depth + 1)
            case 6 where depth < 4:
                guard var inner = try? container.nestedUnkeyedContainer() else {
                    notes.append("no list")
                    continue
                }
                read(&inner, &random, depth: depth + 1)
            default: note("data") { try container.decode(Data.self) }
            }
            notes.append("at \(container.currentIndex) \(container.isAtEnd)")
        }
    }
}
