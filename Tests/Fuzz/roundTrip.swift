import PropertyLists

/// Builds a tree from the input, so that writers meet values that no reader gives, and reads back what is written.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = Input(bytes: UnsafeBufferPointer(start: data, count: size))
    var builder = PropertyListBuilder()
    guard (try? input.append(to: &builder, depth: 0)) != nil, let list = try? builder.finish() else { return 0 }
    checkRoundTrips(list)
    return 0
}

/// Bytes that decide what is built.
private struct Input {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    mutating func byte() -> UInt8 {
        guard position < bytes.count else { return 0 }
        position += 1
        return bytes[position - 1]
    }

    mutating func number() -> UInt64 { (0..<8).reduce(0) { value, _ in value << 8 | UInt64(byte()) } }

    mutating func text() -> [UInt8] { (0..<Int(byte() & 31)).map { _ in byte() } }

    mutating func append(to builder: inout PropertyListBuilder, depth: Int) throws {
        switch byte() % 11 {
        case 1: try builder.append(boolean: byte() & 1 != 0)
        case 2: try builder.append(integer: Int64(bitPattern: number()))
        case 3: try builder.append(unsigned: number())
        case 4: try builder.append(real: Double(bitPattern: number()))
        case 5:
            let seconds = Double(bitPattern: number())
            try builder.append(date: seconds.isFinite ? seconds : Double(byte()))
        case 6: try builder.append(uid: UInt32(truncatingIfNeeded: number()))
        case 7: try text().withUnsafeBytes { try builder.append(utf8: $0) }
        case 8: try builder.append(data: text())
        case 9 where depth < 16:
            try builder.beginArray()
            for _ in 0..<(byte() & 15) { try append(to: &builder, depth: depth + 1) }
            try builder.end()
        case 10 where depth < 16:
            try builder.beginDictionary()
            for _ in 0..<(byte() & 15) {
                try text().withUnsafeBytes { try builder.key(utf8: $0) }
                try append(to: &builder, depth: depth + 1)
            }
            try builder.end()
        default: try builder.appendNull()
        }
    }
}
