import CodableTypes
import Foundation
import KeyValueCoding
import PropertyLists
import TestSupport
import Testing

// A declared type and the Swift struct of the same shape must accept and reject the same values, give the same tree,
// and for a single fault the same message. Swift types of any shape come from generic structs with synthesised Codable.

private enum Theme: String, Codable, CaseIterable { case light, dark }
private enum Level: Int, Codable, CaseIterable {
    case low = 0
    case high = 10
}

private struct Pair<A: Codable, B: Codable>: Codable {
    var alpha: A
    var beta: B?
    enum CodingKeys: String, CodingKey {
        case alpha
        case beta = "the beta"
    }
}

private struct Triple<A: Codable, B: Codable, C: Codable>: Codable {
    var zeta: A
    var one: B?
    var two: C
}

/// Enums with associated values: labelled, without a label, optional and none.
private enum Choice<A: Codable, B: Codable>: Codable {
    case both(first: A, B?)
    case single(A)
    case maybe(value: B?)
    case nothing
}

private indirect enum Chain<A: Codable>: Codable {
    case link(A, next: Chain)
    case end
}

private typealias Model = Codable & SendableMetatype

/// A type in both worlds, and how to make values of it.
private struct Sample {
    var swift: any Model.Type
    var expression: String
    var declarations: [String] = []
    var value: (inout Generator) -> Any
}

private struct Generator: RandomNumberGenerator {
    private var numbers: SeededGenerator
    private(set) var names = 0

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func name() -> String {
        names += 1
        return "S\(names)"
    }

    // MARK: - Types

    mutating func sample(depth: Int) -> Sample {
        switch below(depth > 0 ? 20 : 9) {
        case 9, 10: return array(sample(depth: depth - 1))
        case 11: return dictionary(sample(depth: depth - 1))
        case 12, 13: return pair(sample(depth: depth - 1), sample(depth: depth - 1))
        case 14: return triple(sample(depth: depth - 1), sample(depth: depth - 1), sample(depth: depth - 1))
        case 15: return optionals(sample(depth: depth - 1))
        case 16, 17, 18: return choice(sample(depth: depth - 1), sample(depth: depth - 1))
        case 19: return chain(sample(depth: depth - 1))
        default: return scalar()
        }
    }

    private mutating func scalar() -> Sample {
        let all: [Sample] = [
            Sample(swift: Bool.self, expression: "Bool") { $0.below(2) == 0 },
            Sample(swift: Int.self, expression: "Int") { $0.number() },
            Sample(swift: Int8.self, expression: "Int8") { $0.below(256) - 128 },
            Sample(swift: Int16.self, expression: "Int16") { $0.below(65536) - 32768 },
            Sample(swift: Int32.self, expression: "Int32") { Double($0.below(1000)) },
            Sample(swift: Int64.self, expression: "Int64") { $0.number() },
            Sample(swift: UInt.self, expression: "UInt") { $0.next() },
            Sample(swift: UInt8.self, expression: "UInt8") { $0.below(256) },
            Sample(swift: UInt16.self, expression: "UInt16") { $0.below(65536) },
            Sample(swift: UInt32.self, expression: "UInt32") { $0.below(65536) },
            Sample(swift: UInt64.self, expression: "UInt64") { $0.next() },
            Sample(swift: Int128.self, expression: "Int128") { $0.number() },
            Sample(swift: UInt128.self, expression: "UInt128") { $0.next() },
            Sample(swift: Float.self, expression: "Float") { Double($0.below(1000)) / 8 },
            Sample(swift: Double.self, expression: "Double") { Double($0.number()) / 7 },
            Sample(swift: Decimal.self, expression: "Decimal") { "\($0.below(100_000)).\($0.below(90) + 10)" },
            Sample(swift: String.self, expression: "String") { "text \($0.below(100))" },
            Sample(swift: Data.self, expression: "Data") { Data([UInt8($0.below(256))]) },
            Sample(swift: Date.self, expression: "Date") {
                Date(timeIntervalSinceReferenceDate: Double($0.below(1000)))
            },
            Sample(swift: URL.self, expression: "URL") { "http://example.com/\($0.below(100))" },
            Sample(swift: UUID.self, expression: "UUID") { _ in "E621E1F8-C36C-495A-93FC-0C247A3E6E5F" },
            Sample(swift: Duration.self, expression: "Duration") { [$0.below(5), $0.below(1000)] },
            Sample(swift: Theme.self, expression: "Theme") { ["light", "dark"][$0.below(2)] },
            Sample(swift: Level.self, expression: "Level") { [0, 10][$0.below(2)] },
        ]
        return all[below(all.count)]
    }

    mutating func number() -> Int { below(2) == 0 ? below(1000) - 500 : Int(truncatingIfNeeded: next()) }

    private func array(_ element: Sample) -> Sample {
        func open<T: Model>(_ type: T.Type) -> any Model.Type { [T].self }
        return Sample(
            swift: open(element.swift), expression: "[\(element.expression)]", declarations: element.declarations
        ) { generator in (0..<generator.below(4)).map { _ in element.value(&generator) } }
    }

    private func optionals(_ element: Sample) -> Sample {
        func open<T: Model>(_ type: T.Type) -> any Model.Type { [T?].self }
        return Sample(
            swift: open(element.swift), expression: "[\(element.expression)?]", declarations: element.declarations
        ) { generator in
            (0..<generator.below(4)).map { _ in generator.below(3) == 0 ? "$null" : element.value(&generator) }
        }
    }

    private func dictionary(_ value: Sample) -> Sample {
        func open<T: Model>(_ type: T.Type) -> any Model.Type { [String: T].self }
        return Sample(
            swift: open(value.swift), expression: "[String: \(value.expression)]", declarations: value.declarations
        ) { generator in
            Dictionary(uniqueKeysWithValues: (0..<generator.below(4)).map { ("k\($0)", value.value(&generator)) })
        }
    }

    private mutating func pair(_ alpha: Sample, _ beta: Sample) -> Sample {
        func open<A: Model>(_ alpha: A.Type) -> any Model.Type {
            func open<B: Model>(_ beta: B.Type) -> any Model.Type { Pair<A, B>.self }
            return open(beta.swift)
        }
        func name(_ generator: inout Generator) -> String { generator.name() }
        let name = name(&self)
        let declaration =
            "struct \(name) { alpha: \(alpha.expression); beta: \(beta.expression)? @key(\"the beta\") }"
        return Sample(
            swift: open(alpha.swift), expression: name,
            declarations: alpha.declarations + beta.declarations + [declaration]
        ) { generator in
            var value: [String: Any] = ["alpha": alpha.value(&generator)]
            if generator.below(3) > 0 { value["the beta"] = beta.value(&generator) }
            return value
        }
    }

    private mutating func triple(_ zeta: Sample, _ one: Sample, _ two: Sample) -> Sample {
        func open<A: Model>(_ zeta: A.Type) -> any Model.Type {
            func open<B: Model>(_ one: B.Type) -> any Model.Type {
                func open<C: Model>(_ two: C.Type) -> any Model.Type { Triple<A, B, C>.self }
                return open(two.swift)
            }
            return open(one.swift)
        }
        let name = name()
        let declaration = "struct \(name) { zeta: \(zeta.expression); one: \(one.expression)?; two: \(two.expression) }"
        return Sample(
            swift: open(zeta.swift), expression: name,
            declarations: zeta.declarations + one.declarations + two.declarations + [declaration]
        ) { generator in
            var value: [String: Any] = ["zeta": zeta.value(&generator), "two": two.value(&generator)]
            if generator.below(3) > 0 { value["one"] = one.value(&generator) }
            return value
        }
    }

    private mutating func choice(_ first: Sample, _ second: Sample) -> Sample {
        func open<A: Model>(_ first: A.Type) -> any Model.Type {
            func open<B: Model>(_ second: B.Type) -> any Model.Type { Choice<A, B>.self }
            return open(second.swift)
        }
        let name = name()
        // Swift's words about a raw value or a case name the type.
        let declaration = """
            enum \(name) {
                both(first: \(first.expression), \(second.expression)?), single(\(first.expression))
                maybe(value: \(second.expression)?), nothing
            }
            """
        return Sample(
            swift: open(first.swift), expression: name,
            declarations: first.declarations + second.declarations + [declaration]
        ) { generator in
            switch generator.below(5) {
            case 0: return ["both": ["first": first.value(&generator), "_1": second.value(&generator)]]
            case 1: return ["both": ["first": first.value(&generator)]]
            case 2: return ["single": ["_0": first.value(&generator)]]
            case 3: return ["maybe": ["value": second.value(&generator)]]
            default: return ["nothing": [String: Any]()]
            }
        }
    }

    private mutating func chain(_ element: Sample) -> Sample {
        func open<A: Model>(_ element: A.Type) -> any Model.Type { Chain<A>.self }
        let name = name()
        let declaration = "indirect enum \(name) { link(\(element.expression), next: \(name)), end }"
        return Sample(
            swift: open(element.swift), expression: name, declarations: element.declarations + [declaration]
        ) { generator in
            var value: [String: Any] = ["end": [String: Any]()]
            for _ in 0..<generator.below(3) { value = ["link": ["_0": element.value(&generator), "next": value]] }
            return value
        }
    }

    // MARK: - Faults

    /// The value with one part changed.
    mutating func damaged(_ value: Any) -> Any {
        if below(4) > 0 {
            if var array = value as? [Any], !array.isEmpty {
                let index = below(array.count)
                array[index] = damaged(array[index])
                return array
            }
            if var dictionary = value as? [String: Any], let key = dictionary.keys.sorted().randomElement(using: &self)
            {
                switch below(6) {
                case 0: dictionary[key] = nil
                case 1: dictionary["unknown"] = below(5)
                default: dictionary[key] = damaged(dictionary[key] ?? 0)
                }
                return dictionary
            }
        }
        let others: [Any] = [
            true, 5, -1, 300, 70000, 2.0, 2.5, Double.nan, Double.infinity, 1e300, UInt64.max, "text", "", "$null", "5",
            "blue", "1.50", "http://a b/ü", Data([1]), Date(timeIntervalSinceReferenceDate: 1), [Any](),
            [1, "a"] as [Any],
            [String: Any](), ["a": 1], [1, 2, 3], PropertyListUID(3),
        ]
        return others[below(others.count)]
    }
}

/// The outcome of a value: the tree that encoding the decoded value gives, or the message.
private enum Outcome: Equatable, CustomStringConvertible {
    case tree(PropertyList)
    case message(String)

    var description: String {
        switch self {
        case .tree(let list): "\((try? list.any()).map { "\($0)" } ?? "?")"
        case .message(let message): message
        }
    }
}

@Suite struct DifferentialTests {
    private static var count: Int {
        ProcessInfo.processInfo.environment["KVCODABLE_CASES"].flatMap(Int.init) ?? 2000
    }

    private func outcome(_ type: CodableType, _ list: PropertyList) -> Outcome {
        let value: PropertyList
        do {
            value = try type.decode(list)
        } catch {
            return .message(error.message(firstIndex: 0, root: "SELF"))
        }
        do {
            return .tree(try type.encode(value).list)
        } catch {
            // A value in program form has its faults at the names of fields, which the Swift type here does not have.
            return .message(error.subject + error.finding)
        }
    }

    // proves: G58
    @Test("a declared type and the Swift type of its shape agree on generated values")
    func agree() throws {
        var disagreements: [String] = []
        var rejections = 0
        for seed in 0..<UInt64(Self.count) {
            var generator = Generator(seed: seed)
            let sample = generator.sample(depth: 3)
            let registry = TypeRegistry()
            try registry.declare("enum Theme: String { light, dark }; enum Level: Int { low = 0, high = 10 }")
            try registry.declare(sample.declarations.joined(separator: "\n"))
            let declared = try registry.type(sample.expression)
            func register<T: Model>(_ type: T.Type) throws -> CodableType {
                try registry.register(type, as: "Registered")
            }
            let swift = try register(sample.swift)
            var value = sample.value(&generator)
            if generator.below(3) > 0 { value = generator.damaged(value) }
            let list = try PropertyList(any: value)
            let (left, right) = (outcome(declared, list), outcome(swift, list))
            if case .message = right { rejections += 1 }
            if left != right {
                disagreements.append(
                    "\(seed) \(sample.expression) \(sample.swift): \(value)\n  declared: \(left)\n  swift:    \(right)")
            }
        }
        #expect(disagreements.isEmpty, "\(disagreements.prefix(12).joined(separator: "\n"))")
        // The test says something only where both happen.
        #expect(rejections > Self.count / 20 && rejections < Self.count * 3 / 4)
    }
}
