/// Base64 (RFC 4648, section 4) as property lists have it: broken into lines, with padding.
enum Base64 {
    /// Decodes text in place and gives the number of bytes; nil where it is not base64.
    ///
    /// Whitespace may stand anywhere. The padding must be there, so that a text cut short is noticed.
    static func decode(inPlace text: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        var (read, written) = (0, 0)
        var (bits, digits, padding): (UInt32, Int, Int) = (0, 0, 0)
        while read < text.count {
            if digits == 0, padding == 0, decodeGroups(text, &read, &written), read == text.count { break }
            let byte = text[read]
            read += 1
            if isWhitespace(byte) { continue }
            if byte == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            let value = values[Int(byte)]
            guard value < 64, padding == 0 else { return nil }
            bits = bits << 6 | UInt32(value)
            digits += 1
            if digits == 4 {
                text[written] = UInt8(truncatingIfNeeded: bits >> 16)
                text[written + 1] = UInt8(truncatingIfNeeded: bits >> 8)
                text[written + 2] = UInt8(truncatingIfNeeded: bits)
                written += 3
                (bits, digits) = (0, 0)
            }
        }
        return finish(text, written, bits, digits, padding)
    }

    /// The index of the first byte that `decode` would not take, the end where digits or padding are missing; nil for
    /// base64.
    static func fault(in text: UnsafeBufferPointer<UInt8>) -> Int? {
        var (digits, padding) = (0, 0)
        for (index, byte) in text.enumerated() where !isWhitespace(byte) {
            if byte == UInt8(ascii: "="), digits % 4 > 1, digits % 4 + padding < 4 {
                padding += 1
            } else if values[Int(byte)] < 64, padding == 0 {
                digits += 1
            } else {
                return index
            }
        }
        return (digits + padding) % 4 == 0 ? nil : text.count
    }

    /// Decodes groups of four digits without whitespace between them, as far as they go. Always true.
    private static func decodeGroups(
        _ text: UnsafeMutableBufferPointer<UInt8>, _ read: inout Int, _ written: inout Int
    ) -> Bool {
        while text.count &- read >= 4 {
            let first = UInt32(values[Int(text[read])])
            let second = UInt32(values[Int(text[read &+ 1])])
            let third = UInt32(values[Int(text[read &+ 2])])
            let fourth = UInt32(values[Int(text[read &+ 3])])
            guard first | second | third | fourth < 64 else { return true }
            let bits = first << 18 | second << 12 | third << 6 | fourth
            text[written] = UInt8(truncatingIfNeeded: bits >> 16)
            text[written &+ 1] = UInt8(truncatingIfNeeded: bits >> 8)
            text[written &+ 2] = UInt8(truncatingIfNeeded: bits)
            read &+= 4
            written &+= 3
        }
        return true
    }

    private static func finish(
        _ text: UnsafeMutableBufferPointer<UInt8>, _ written: Int, _ bits: UInt32, _ digits: Int, _ padding: Int
    ) -> Int? {
        switch (digits, padding) {
        case (0, 0): return written
        case (2, 2):
            text[written] = UInt8(truncatingIfNeeded: bits >> 4)
            return written + 1
        case (3, 1):
            text[written] = UInt8(truncatingIfNeeded: bits >> 10)
            text[written + 1] = UInt8(truncatingIfNeeded: bits >> 2)
            return written + 2
        default: return nil
        }
    }

    /// Appends a line of at most 57 bytes.
    static func encode(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout GrowableBuffer<UInt8>) {
        output.reserve((bytes.count + 2) / 3 * 4)
        var position = 0
        while position < bytes.count {
            let left = bytes.count - position
            var bits = UInt32(bytes[position]) << 16
            if left > 1 { bits |= UInt32(bytes[position + 1]) << 8 }
            if left > 2 { bits |= UInt32(bytes[position + 2]) }
            output.append(digit(bits >> 18))
            output.append(digit(bits >> 12))
            output.append(left > 1 ? digit(bits >> 6) : UInt8(ascii: "="))
            output.append(left > 2 ? digit(bits) : UInt8(ascii: "="))
            position += 3
        }
    }

    private static func digit(_ bits: UInt32) -> UInt8 {
        alphabet.utf8Start[Int(bits & 0x3F)]
    }

    private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

    /// The value of each byte as a digit; 255 for bytes that are none.
    private static let values: InlineArray<256, UInt8> = {
        var values = InlineArray<256, UInt8>(repeating: 255)
        for value in 0..<64 { values[Int(alphabet.utf8Start[value])] = UInt8(value) }
        return values
    }()
}
