import Foundation
import KeyValueCoder
import PropertyLists

/// Single operations for an instruction counter.
enum Counting {
    static func run(_ arguments: [String], _ shape: Shape<[Record]>) throws {
        guard arguments.count == 3, let times = Int(arguments[2]) else { throw WrongShape() }
        switch arguments[0] {
        case "records": try run(shape.value, arguments[1], times)
        case "by-hand": try runByHand(shape, arguments[1], times)
        case "idle": try runIdle(shape.value, arguments[1], times)
        case "integers": try run(Array(0..<100_000), arguments[1], times)
        case "doubles": try run((0..<100_000).map { Double($0) * 0.5 }, arguments[1], times)
        case "strings": try run((0..<10_000).map { "string number \($0)" }, arguments[1], times)
        case "pair": try run(Pair(x: 1, name: "one"), arguments[1], times)
        default: throw WrongShape()
        }
    }

    /// Codable's own part of the work, with coders that do nothing.
    private static func runIdle(_ records: [Record], _ operation: String, _ times: Int) throws {
        let decoder = IdleDecoder(count: records.count)
        for _ in 0..<times {
            switch operation {
            case "build": try records.encode(to: IdleEncoder())
            case "read": consume(try [Record](from: decoder))
            default: throw WrongShape()
            }
        }
    }

    /// The same operations on the records, by the hand-written code.
    private static func runByHand(_ shape: Shape<[Record]>, _ operation: String, _ times: Int) throws {
        guard let encode = shape.encodeByHand, let decode = shape.decodeByHand, let build = shape.buildByHand,
            let read = shape.readByHand
        else { throw WrongShape() }
        let any = try encode(shape.value)
        let list = try build(shape.value)
        for _ in 0..<times {
            switch operation {
            case "encode": consume(try encode(shape.value))
            case "decode": consume(try decode(any))
            case "build": consume(try build(shape.value))
            case "read": consume(try read(list))
            default: throw WrongShape()
            }
        }
    }

    private static func run<Value: Codable>(_ value: Value, _ operation: String, _ times: Int) throws {
        let encoder = KeyValueEncoder()
        let decoder = KeyValueDecoder()
        let any = try encoder.encode(value) as Any
        guard let list = try encoder.encodeToPropertyList(value) else { throw WrongShape() }
        let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value))
        for _ in 0..<times {
            switch operation {
            case "json-encode": consume(try JSONSerialization.jsonObject(with: JSONEncoder().encode(value)))
            case "json-decode":
                consume(try JSONDecoder().decode(Value.self, from: JSONSerialization.data(withJSONObject: json)))
            case "encode": consume(try encoder.encode(value))
            case "decode": consume(try decoder.decode(Value.self, from: any))
            case "build": consume(try encoder.encodeToPropertyList(value))
            case "read": consume(try decoder.decode(Value.self, from: list))
            default: throw WrongShape()
            }
        }
    }
}
