import Foundation
import KeyValueCoder

/// A value as the formats see it, whatever type holds it: what differs here differs in a file, too.
indirect enum Form: Equatable {
    case null
    case bool(Bool)
    case integer(Int128)
    case real(Double)
    case string(String)
    case data(Data)
    case date(Date)
    case array([Form])
    case dictionary([String: Form])
    case other(String)

    /// - Parameter floats: how a Float counts, which some formats write by its digits, and others as the same Double.
    init(_ value: Any, floats: (Float) -> Double = { Double($0) }) {
        if type(of: value) is NSNumber.Type, let number = value as? NSNumber {
            self = Self.number(number)
        } else if type(of: value) is NSNull.Type || NilCodingStrategy.default.isNull(value) {
            self = .null
        } else if let entries = value as? [String: Any] {
            self = .dictionary(entries.mapValues { Form($0, floats: floats) })
        } else if let elements = value as? [Any] {
            self = .array(elements.map { Form($0, floats: floats) })
        } else if let value = value as? Float {
            self = .real(floats(value))
        } else {
            self = Self.scalar(value)
        }
    }

    private static func number(_ number: NSNumber) -> Form {
        if number === NSNumber(value: true) || number === NSNumber(value: false) { return .bool(number.boolValue) }
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"): return .real(number.doubleValue)
        case UInt8(ascii: "Q"): return .integer(Int128(number.uint64Value))
        default: return .integer(Int128(number.int64Value))
        }
    }

    private static func scalar(_ value: Any) -> Form {
        switch value {
        case let value as Bool: .bool(value)
        case let value as String: .string(value)
        case let value as Double: .real(value)
        case let value as any FixedWidthInteger: .integer(Int128(value))
        case let value as Data: .data(value)
        case let value as Date: .date(value)
        default: .other("\(type(of: value)) \(value)")
        }
    }

    /// As JSON has it, where dates are numbers, data is base64, and a number without a fraction is an integer.
    var asJSON: Form {
        switch self {
        case .real(let value): Int64(exactly: value).map { .integer(Int128($0)) } ?? self
        case .date(let value): Form.real(value.timeIntervalSinceReferenceDate).asJSON
        case .data(let value): .string(value.base64EncodedString())
        case .array(let elements): .array(elements.map(\.asJSON))
        case .dictionary(let entries): .dictionary(entries.mapValues(\.asJSON))
        default: self
        }
    }
}

// MARK: - Changing a value

extension Form {
    /// The value with one thing in it changed: a value replaced, an entry or element taken away or put in.
    func mutated(_ random: inout Seeded) -> Form {
        switch self {
        case .array(var elements) where !elements.isEmpty && random.flag():
            let index = Int.random(in: 0..<elements.count, using: &random)
            elements[index] = elements[index].mutated(&random)
            return .array(elements)
        case .dictionary(var entries) where !entries.isEmpty && random.flag():
            let key = random.one(of: entries.keys.sorted())
            entries[key] = entries[key]?.mutated(&random)
            return .dictionary(entries)
        default: return changed(&random)
        }
    }

    private func changed(_ random: inout Seeded) -> Form {
        switch self {
        case .array(var elements) where !elements.isEmpty && random.flag():
            elements.remove(at: Int.random(in: 0..<elements.count, using: &random))
            return .array(elements)
        case .dictionary(var entries) where !entries.isEmpty && random.flag():
            entries[random.one(of: entries.keys.sorted())] = nil
            return .dictionary(entries)
        case .array(let elements) where random.flag(): return .array(elements + [Self.any(&random)])
        case .dictionary(var entries) where random.flag():
            entries["new"] = Self.any(&random)
            return .dictionary(entries)
        default: return Self.any(&random)
        }
    }

    private static func any(_ random: inout Seeded) -> Form {
        let simple: [Form] = [
            .bool(true), .integer(0), .integer(1), .integer(-1), .integer(300), .integer(70000), .real(0.5),
            .integer(Int128(UInt64.max)), .real(-1e200), .string(""), .string("a"), .string("1"), .string("low"),
            .data(Data([1])), .date(Date(timeIntervalSinceReferenceDate: 5)), .array([]), .dictionary([:]),
            .array([.integer(1)]), .dictionary(["a": .integer(1)]), .dictionary(["low": .integer(1)]),
            .dictionary(["1": .integer(7)]), .dictionary(["2": .array([.integer(1)])]),
            .dictionary(["0.5": .integer(1)]), .dictionary(["E621E1F8-C36C-495A-93FC-0C247A3E6E5F": .string("a")]),
        ]
        return random.one(of: simple)
    }

    /// The value as Foundation's readers give it: numbers are objects.
    var foundation: Any { any(.boxed) }

    /// The value in Swift's types.
    var native: Any { any(.native) }

    private enum Numbers { case boxed, native }

    private func any(_ numbers: Numbers) -> Any {
        switch self {
        case .null: return numbers == .boxed ? NSNull() : Int?.none as Any
        case .bool(let value): return numbers == .boxed ? NSNumber(value: value) : value
        case .integer(let value):
            if let value = Int64(exactly: value) { return numbers == .boxed ? NSNumber(value: value) : value }
            let value = UInt64(clamping: value)
            return numbers == .boxed ? NSNumber(value: value) : value
        case .real(let value): return numbers == .boxed ? NSNumber(value: value) : value
        case .string(let value): return value
        case .data(let value): return value
        case .date(let value): return value
        case .array(let elements): return elements.map { $0.any(numbers) }
        case .dictionary(let entries): return entries.mapValues { $0.any(numbers) }
        case .other(let text): return text
        }
    }
}

extension Form: CustomStringConvertible {
    var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .real(let value): "real \(value)"
        case .string(let value): value.debugDescription
        case .data(let value): "data \([UInt8](value))"
        case .date(let value): "date \(value.timeIntervalSinceReferenceDate)"
        case .array(let values): "\(values)"
        case .dictionary(let values):
            "{" + values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "}"
        case .other(let text): text
        }
    }
}
