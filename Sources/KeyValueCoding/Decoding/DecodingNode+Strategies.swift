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
        case .custom(let convert): return try converted("Date", at: slot, key, convert)
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
        case .custom(let convert): return try converted("Data", at: slot, key, convert)
        }
    }

    /// What a strategy's closure makes of the value; its error is wrapped into one with the path.
    private final func converted<Result>(
        _ type: String, at slot: DecodingSlot, _ key: (any CodingKey)?, _ convert: (Any) throws -> Result
    ) throws -> Result {
        guard let value = any(at: slot) else { throw missing(slot, key) }
        do { return try convert(value) } catch { throw wrapped(error, type, key) }
    }
}
