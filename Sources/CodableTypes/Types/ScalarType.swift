internal import CKVCodable
internal import FoundationEssentials
internal import KeyValueCoding
internal import PropertyLists

/// A built-in type without parts, with the limits that a declaration may set.
struct ScalarType: Sendable, Hashable {
    enum Kind: String, Sendable, CaseIterable {
        case bool = "Bool"
        case int = "Int"
        case int8 = "Int8"
        case int16 = "Int16"
        case int32 = "Int32"
        case int64 = "Int64"
        case int128 = "Int128"
        case uint = "UInt"
        case uint8 = "UInt8"
        case uint16 = "UInt16"
        case uint32 = "UInt32"
        case uint64 = "UInt64"
        case uint128 = "UInt128"
        case float = "Float"
        case double = "Double"
        case decimal = "Decimal"
        case string = "String"
        case data = "Data"
        case date = "Date"
        case url = "URL"
        case uuid = "UUID"
        case duration = "Duration"
        case uid = "UID"
    }

    /// The numbers that are allowed.
    enum Range: Sendable, Hashable {
        case integers(TypeBounds<Int128>)
        case reals(TypeBounds<Double>)
    }

    let kind: Kind
    var range: Range?
    /// Characters (Unicode scalars) of a string, bytes of data.
    var length: TypeBounds<Int>?
}

extension ScalarType: CustomStringConvertible {
    var description: String {
        switch range {
        case .integers(let range): return "\(kind.rawValue)(\(range))"
        case .reals(let range): return "\(kind.rawValue)(\(range))"
        case nil: return kind.rawValue + (length.map { "(\($0))" } ?? "")
        }
    }
}

extension ScalarType.Kind {
    /// The whole numbers that an integer type holds, as far as a file can; nil for other types.
    var bounds: (low: Int64, high: UInt64)? {
        switch self {
        case .int, .int64: (.min, UInt64(Int64.max))
        case .int8: (Int64(Int8.min), UInt64(Int8.max))
        case .int16: (Int64(Int16.min), UInt64(Int16.max))
        case .int32: (Int64(Int32.min), UInt64(Int32.max))
        case .int128: (.min, .max)
        case .uint, .uint64, .uint128: (0, .max)
        case .uint8: (0, UInt64(UInt8.max))
        case .uint16: (0, UInt64(UInt16.max))
        case .uint32: (0, UInt64(UInt32.max))
        default: nil
        }
    }
}

/// A scalar's program form: the stored value itself, or another one.
enum ScalarForm {
    case same
    case integer(Int64)
    case unsigned(UInt64)
    case real(Double)
    case string(String)
    /// The first elements of an array, each in a form of its own.
    indirect case parts([ScalarForm], PropertyList)

    var isSame: Bool { if case .same = self { true } else { false } }
}

extension ScalarType {
    /// Checks a value and gives its program form, which for scalars is also its stored form.
    func form(of value: PropertyList) throws(TypeError) -> ScalarForm {
        switch kind {
        case .bool: return try expect(.boolean, value)
        case .string: return try text(value)
        case .data: return try bytes(value)
        case .date: return try expect(.date, value)
        case .uid: return try expect(.uid, value)
        case .double, .float: return try real(value)
        case .decimal: return try decimal(value)
        case .url: return try url(value)
        case .uuid: return try uuid(value)
        case .duration: return try duration(value)
        default: return try integer(value)
        }
    }

    private func expect(_ kind: PropertyListKind, _ value: PropertyList) throws(TypeError) -> ScalarForm {
        guard value.kind == kind else { throw .mismatch(self.kind.rawValue, value) }
        return .same
    }

    // MARK: - Numbers

    private func integer(_ value: PropertyList) throws(TypeError) -> ScalarForm {
        switch value.kind {
        case .integer:
            let number = Int64(bitPattern: value.node.payload)
            try check(number, number < 0 ? nil : UInt64(number), value)
            return .same
        case .unsigned:
            try check(nil, value.node.payload, value)
            return .same
        case .real:
            let number = Double(bitPattern: value.node.payload)
            if let whole = Int64(exactly: number) {
                try check(whole, whole < 0 ? nil : UInt64(whole), value)
                return .integer(whole)
            }
            guard let whole = UInt64(exactly: number) else { throw .notRepresentable(value, by: kind.rawValue) }
            try check(nil, whole, value)
            return .unsigned(whole)
        default:
            throw .mismatch("BinaryInteger", value)
        }
    }

    /// Checks a whole number, given as one or both of its forms, against the type's bounds and range.
    private func check(
        _ signed: Int64?, _ unsigned: UInt64?, _ found: PropertyList
    ) throws(TypeError) {
        guard let bounds = kind.bounds else { return }
        let isInBounds = unsigned.map { $0 <= bounds.high } ?? signed.map { $0 >= bounds.low } ?? false
        guard isInBounds else { throw .notRepresentable(found, by: kind.rawValue) }
        guard case .integers(let range) = range else { return }
        let number = signed.map { Int128($0) } ?? unsigned.map { Int128($0) } ?? 0
        guard range.contains(number) else {
            throw TypeError(.notRepresentable, .expected("\(range)", found: "\(number)"))
        }
    }

    private func real(_ value: PropertyList) throws(TypeError) -> ScalarForm {
        guard let number = value.number else { throw .mismatch(kind.rawValue, value) }
        let rounded = kind == .float ? Double(Float(number)) : number
        guard rounded.isFinite || !number.isFinite else { throw .notRepresentable(value, by: kind.rawValue) }
        if case .reals(let range) = range, !range.contains(rounded) {
            throw TypeError(.notRepresentable, .expected("\(range)", found: "\(number)"))
        }
        return value.kind == .real && rounded.bitPattern == number.bitPattern ? .same : .real(rounded)
    }

    private func decimal(_ value: PropertyList) throws(TypeError) -> ScalarForm {
        if value.withBytes({ DecimalDigits.isCanonical($0) }) ?? false, value.kind == .string { return .same }
        guard let decimal = try decimalNumber(value) else { throw misspelt("Decimal", value) }
        let text = decimal.description
        return value.string == text ? .same : .string(text)
    }

    /// The number of a string or a number; integers exactly, binary fractions by the shortest digits that name them.
    private func decimalNumber(_ value: PropertyList) throws(TypeError) -> Decimal? {
        switch value.kind {
        case .string: return value.string.flatMap { DecimalDigits.number($0) }
        case .integer: return value.integer.map { Decimal($0) }
        case .unsigned: return value.unsigned.map { Decimal($0) }
        case .real:
            guard let number = value.real, !number.isNaN else { return .nan }
            guard let decimal = DecimalDigits.number(number.description) else {
                throw .notRepresentable(value, by: "Decimal")
            }
            return decimal
        default: return nil
        }
    }

    // MARK: - Text and bytes

    private func text(_ value: PropertyList) throws(TypeError) -> ScalarForm {
        guard value.kind == .string else { throw .mismatch("String", value) }
        if let length {
            // A byte that continues no sequence begins a character.
            let count = value.document.buffer(of: value.node).count { $0 & 0xC0 != 0x80 }
            try checkLength(count, length, "characters")
        }
        return .same
    }

    private func bytes(_ value: PropertyList) throws(TypeError) -> ScalarForm {
        guard value.kind == .data else { throw .mismatch("Data", value) }
        if let length { try checkLength(value.count, length, "bytes") }
        return .same
    }

    private func url(_ value: PropertyList) throws(TypeError) -> ScalarForm {
        guard value.kind == .string else { throw .mismatch("URL", value) }
        guard let text = value.string, !text.isEmpty, let url = URL(string: text) else { throw misspelt("URL", value) }
        return url.absoluteString == text ? .same : .string(url.absoluteString)
    }

    /// The error of a text that spells no value of the type; those who have no Swift types are shown the text.
    private func misspelt(_ type: String, _ value: PropertyList) -> TypeError {
        let error = TypeError.mismatch(type, value)
        return value.string.map { error.plainly(type, found: "\"\(shown($0))\"") } ?? error
    }

    private func uuid(_ value: PropertyList) throws(TypeError) -> ScalarForm {
        guard value.kind == .string else { throw .mismatch("String", value) }
        guard let text = value.string, let uuid = UUID(uuidString: text) else {
            // Foundation's own words.
            throw TypeError(.mismatch, "Attempted to decode UUID from invalid UUID string")
                .plainly("UUID", found: "\"\(shown(value.string ?? ""))\"")
        }
        return uuid.uuidString == text ? .same : .string(uuid.uuidString)
    }

    /// Two whole numbers, as Duration's own Codable writes it. Elements behind them are not read.
    private func duration(_ value: PropertyList) throws(TypeError) -> ScalarForm {
        guard value.kind == .array else { throw .mismatch("Array<Any>", value) }
        var parts: [ScalarForm] = []
        for (index, kind) in [Kind.int64, .uint64].enumerated() {
            guard let part = value[index] else { throw .missingElement(index) }
            do throws(TypeError) {
                parts.append(try ScalarType(kind: kind).integer(part))
            } catch {
                throw error.placed(at: .index(index))
            }
        }
        if value.count == 2, parts.allSatisfy({ $0.isSame }) { return .same }
        return .parts(parts, value)
    }
}

/// Checks a count of characters, bytes or elements.
func checkLength(_ count: Int, _ length: TypeBounds<Int>, _ unit: String) throws(TypeError) {
    guard !length.contains(count) else { return }
    let wanted = length.low == length.high ? "\(length.low ?? 0)" : "\(length)"
    throw TypeError(.notRepresentable, .expected("\(wanted) \(unit)", found: "\(count)"))
}
