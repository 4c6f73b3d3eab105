import Foundation
import KeyValueCoder
import PropertyLists

/// A value, and the ways of coding it that are compared.
struct Shape<Value: Codable & Equatable> {
    var name: String
    var value: Value
    /// The number that a run's time is divided by: elements, or values.
    var operations: Int
    /// How often a run codes the value, where that is too quick to time.
    var repeats = 1
    var rounds = 15
    /// Hand-written code, the floor, where there is some.
    var encodeByHand: ((Value) throws -> Any)?
    var decodeByHand: ((Any) throws -> Value)?
    var buildByHand: ((Value) throws -> PropertyList)?
    var readByHand: ((PropertyList) throws -> Value)?
    /// The type's own part of the work, with coders that do nothing.
    var encodeIdly: ((Value) throws -> Void)?
    var decodeIdly: (() throws -> Value)?

    /// What no coder can be quicker than.
    private static var floor: String { "by hand, and Codable with a coder that does nothing" }

    private let encoder = KeyValueEncoder()
    private let decoder = KeyValueDecoder()

    init(_ name: String, _ value: Value, operations: Int, repeats: Int = 1) {
        self.name = name
        self.value = value
        self.operations = operations
        self.repeats = repeats
    }

    func run() throws {
        try check()
        try report("encode to Any", encodingToAny())
        try report("decode from Any", try decodingFromAny())
        try report("encode to the tree", encodingToTree())
        try report("decode from the tree", decodingFromTree())
    }

    /// All ways must give the same before any is timed.
    private func check() throws {
        let any = try encoder.encode(value) as Any
        guard let list = try encoder.encodeToPropertyList(value) else { throw WrongShape() }
        let json = try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
        let plist = try PropertyListDecoder().decode(Value.self, from: PropertyListEncoder().encode(value))
        var results = [
            try decoder.decode(Value.self, from: any), try decoder.decode(Value.self, from: list), json, plist,
        ]
        if let encodeByHand, let decodeByHand {
            results.append(try decodeByHand(any))
            guard try PropertyList(any: encodeByHand(value)) == list else { throw WrongShape() }
        }
        if let buildByHand, let readByHand {
            results.append(try readByHand(list))
            guard try buildByHand(value) == list else { throw WrongShape() }
        }
        guard try PropertyList(any: any) == list, results.allSatisfy({ $0 == value }) else { throw WrongShape() }
    }

    private func report(_ title: String, _ ways: [Measurement.Way]) throws {
        let repeated = ways.map { way in
            Measurement.Way(name: way.name) { for _ in 0..<repeats { try way.run() } }
        }
        try Measurement.report("\(name): \(title)", repeated, operations: operations * repeats, rounds: rounds)
    }

    private func encodingToAny() -> [Measurement.Way] {
        var ways = [
            Measurement.Way(name: "KeyValueEncoder") { consume(try encoder.encode(value)) }
        ]
        ways += encodingByFoundation()
        if let encodeByHand {
            ways.append(Measurement.Way(name: "by hand") { consume(try encodeByHand(value)) })
        }
        return ways
    }

    /// Foundation's encoders, alone and as far as a tree of values.
    private func encodingByFoundation() -> [Measurement.Way] {
        [
            Measurement.Way(name: "JSONEncoder") { consume(try JSONEncoder().encode(value)) },
            Measurement.Way(name: "JSONEncoder + JSONSerialization") {
                consume(try JSONSerialization.jsonObject(with: JSONEncoder().encode(value), options: .fragmentsAllowed))
            },
            Measurement.Way(name: "PropertyListEncoder + …Serialization") {
                consume(try PropertyListSerialization.propertyList(from: binaryEncoder.encode(value), format: nil))
            },
        ]
    }

    private var binaryEncoder: PropertyListEncoder {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return encoder
    }

    private func decodingFromAny() throws -> [Measurement.Way] {
        let any = try encoder.encode(value) as Any
        var ways = [
            Measurement.Way(name: "KeyValueDecoder") { consume(try decoder.decode(Value.self, from: any)) }
        ]
        ways += try decodingByFoundation()
        if let decodeByHand {
            ways.append(Measurement.Way(name: "by hand") { consume(try decodeByHand(any)) })
        }
        return ways
    }

    /// Foundation's decoders, alone and from a tree of values.
    private func decodingByFoundation() throws -> [Measurement.Way] {
        let json = try JSONEncoder().encode(value)
        let jsonAny = try JSONSerialization.jsonObject(with: json)
        let plistAny = try PropertyListSerialization.propertyList(from: binaryEncoder.encode(value), format: nil)
        return [
            Measurement.Way(name: "JSONDecoder") { consume(try JSONDecoder().decode(Value.self, from: json)) },
            Measurement.Way(name: "JSONSerialization + JSONDecoder") {
                let data = try JSONSerialization.data(withJSONObject: jsonAny)
                consume(try JSONDecoder().decode(Value.self, from: data))
            },
            Measurement.Way(name: "…Serialization + PropertyListDecoder") {
                let data = try PropertyListSerialization.data(fromPropertyList: plistAny, format: .binary, options: 0)
                consume(try PropertyListDecoder().decode(Value.self, from: data))
            },
        ]
    }

    private func encodingToTree() -> [Measurement.Way] {
        var ways = [
            Measurement.Way(name: "KeyValueEncoder") { consume(try encoder.encodeToPropertyList(value)) },
            Measurement.Way(name: "by way of Any") {
                consume(try PropertyList(any: encoder.encode(value) as Any))
            },
        ]
        ways += encodingByFoundation()
        if let buildByHand {
            ways.append(Measurement.Way(name: "by hand") { consume(try buildByHand(value)) })
            if let encodeIdly {
                ways.append(
                    Measurement.Way(name: Self.floor) {
                        try encodeIdly(value)
                        consume(try buildByHand(value))
                    })
            }
        }
        return ways
    }

    private func decodingFromTree() throws -> [Measurement.Way] {
        guard let list = try encoder.encodeToPropertyList(value) else { throw WrongShape() }
        var ways = [
            Measurement.Way(name: "KeyValueDecoder") { consume(try decoder.decode(Value.self, from: list)) },
            Measurement.Way(name: "by way of Any") {
                consume(try decoder.decode(Value.self, from: list.any()))
            },
        ]
        ways += try decodingByFoundation()
        if let readByHand {
            ways.append(Measurement.Way(name: "by hand") { consume(try readByHand(list)) })
            if let decodeIdly {
                ways.append(
                    Measurement.Way(name: Self.floor) {
                        consume(try decodeIdly())
                        consume(try readByHand(list))
                    })
            }
        }
        return ways
    }
}
