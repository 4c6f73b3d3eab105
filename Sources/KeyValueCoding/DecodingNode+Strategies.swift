internal import FoundationEssentials

// Values that strategies are about.

extension DecodingNode {
    final func date(at slot: DecodingSlot, _ key: (any CodingKey)?) throws -> Date {
        switch context.options.dateDecodingStrategy {
        case .date:
            guard case .date(let value) = scalar(at: slot) else { throw mismatch(Date.self, at: slot, key) }
            return value
        case .secondsSince1970:
            return Date(timeIntervalSince1970: Double(try integer(Int64.self, at: slot, key)))
        case .millisecondsSince1970:
            return Date(timeIntervalSince1970: Double(try integer(Int64.self, at: slot, key)) / 1000)
        case .iso8601Format(let style): return try date(spelledAt: slot, key) { try? style.parse($0) }
        case .parsed(let parse): return try date(spelledAt: slot, key, parse)
        case .custom(let convert):
            let value = try required(at: slot, key)
            return try converted(value, "Date", key) { try convert(value) }
        }
    }

    private final func date(
        spelledAt slot: DecodingSlot, _ key: (any CodingKey)?, _ parse: (String) -> Date?
    ) throws -> Date {
        let text = try string(at: slot, key)
        guard let date = parse(text) else {
            throw corrupted(at: key) { "Date at \($0) cannot be decoded. \(text.debugDescription) is not a date" }
        }
        return date
    }

    final func data(at slot: DecodingSlot, _ key: (any CodingKey)?) throws -> Data {
        switch context.options.dataDecodingStrategy {
        case .data:
            guard case .data(let value) = scalar(at: slot) else { throw mismatch(Data.self, at: slot, key) }
            return value
        case .base64:
            let text = try string(at: slot, key)
            guard let value = Data(base64Encoded: text) else {
                throw corrupted(at: key) { "Data at \($0) cannot be decoded. The string is not base64" }
            }
            return value
        case .deferredToData: return try decodePlain(Data.self, at: slot, key)
        case .custom(let convert):
            let value = try required(at: slot, key)
            return try converted(value, "Data", key) { try convert(value) }
        }
    }

    private final func required(at slot: DecodingSlot, _ key: (any CodingKey)?) throws -> Any {
        guard let value = any(at: slot) else { throw missing(slot, key) }
        return value
    }

    private final func converted<Source, Result>(
        _ value: Source, _ type: String, _ key: (any CodingKey)?, _ convert: () throws -> Result
    ) throws -> Result {
        do { return try convert() } catch { throw wrapped(error, type, key) }
    }
}
