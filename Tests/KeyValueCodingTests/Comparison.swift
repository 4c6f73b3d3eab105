import KeyValueCoding
import PropertyLists

/// Whether two trees of `Any` hold the same values of the same dynamic types.
func isSame(_ left: Any?, _ right: Any?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    if isNone(left) == nil, type(of: left) != type(of: right) { return false }
    switch (left, right) {
    case (let left as [String: Any], let right as [String: Any]):
        return left.count == right.count && left.allSatisfy { isSame($0.value, right[$0.key]) && right[$0.key] != nil }
    case (let left as [Any], let right as [Any]):
        return left.count == right.count && zip(left, right).allSatisfy { isSame($0, $1) }
    default: return isSameScalar(left, right)
    }
}

private func isSameScalar(_ left: Any, _ right: Any) -> Bool {
    if let left = left as? Double, let right = right as? Double { return left.bitPattern == right.bitPattern }
    if let none = isNone(left) { return none && isNone(right) == true }
    guard type(of: left) == type(of: right), let left = left as? any Hashable, let right = right as? any Hashable
    else { return false }
    return AnyHashable(left) == AnyHashable(right)
}

/// Whether an Optional is empty; nil for a value that is none.
func isNone(_ value: Any) -> Bool? {
    let mirror = Mirror(reflecting: value)
    return mirror.displayStyle == .optional ? mirror.children.isEmpty : nil
}

/// The text of a coder's error, with its case and path: `typeMismatch SELF.a: Expected …`.
func report(_ error: any Error) -> String {
    func line(_ kind: String, _ path: [any CodingKey], _ text: String) -> String {
        let path = path.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        return "\(kind) SELF\(path): \(text)"
    }
    switch error {
    case DecodingError.typeMismatch(_, let context):
        return line("typeMismatch", context.codingPath, context.debugDescription)
    case DecodingError.valueNotFound(_, let context):
        return line("valueNotFound", context.codingPath, context.debugDescription)
    case DecodingError.keyNotFound(_, let context):
        return line("keyNotFound", context.codingPath, context.debugDescription)
    case DecodingError.dataCorrupted(let context):
        return line("dataCorrupted", context.codingPath, context.debugDescription)
    case EncodingError.invalidValue(_, let context):
        return line("invalidValue", context.codingPath, context.debugDescription)
    default: return "\(error)"
    }
}

/// The report of the error of `body`.
func failure<T>(_ body: () throws -> T) -> String {
    do {
        return "no error, but \(try body())"
    } catch {
        return report(error)
    }
}

/// Encodes by a closure.
struct Writer: Encodable {
    let write: (any Encoder) throws -> Void
    func encode(to encoder: any Encoder) throws { try write(encoder) }
}

/// Whether a value gives the expected tree, in an `Any` and as a property list.
func encodesAlike(
    _ value: some Encodable, _ encoder: KeyValueEncoder = KeyValueEncoder(), as expected: Any
) throws -> Bool {
    let list = try encoder.encodeToPropertyList(value)
    return try isSame(try encoder.encode(value), expected) && list == PropertyList(any: expected)
}
