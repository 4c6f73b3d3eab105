#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

// Work on runs of bytes: comparison, hashing, the search for bytes beyond ASCII, copies; and the classes of single
// bytes in ASCII.

/// The order of keys: by bytes, and where one begins with the other the shorter first.
package func compareBytes(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let leftBase = left.baseAddress, let rightBase = right.baseAddress {
        let order = memcmp(leftBase, rightBase, common)
        if order != 0 { return Int(order) }
    }
    return left.count &- right.count
}

/// The number of bytes, `limit` at most, with which both begin.
package func sharedLength(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>, upTo limit: Int
) -> Int {
    let limit = min(limit, left.count, right.count)
    var length = 0
    while length < limit, left[length] == right[length] { length &+= 1 }
    return length
}

/// A mark in every byte that is 0; bytes above the first of them may be marked wrongly.
func zeroBytes(_ word: UInt64) -> UInt64 {
    (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
}

/// Eight bytes from `start` on, with zeros behind the last, as a number that orders as the bytes do.
package func leadingWord(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int = 0) -> UInt64 {
    guard let base = bytes.baseAddress, start < bytes.count else { return 0 }
    let raw = UnsafeRawPointer(base + start)
    let count = bytes.count &- start
    if count >= 8 { return raw.loadUnaligned(as: UInt64.self).bigEndian }
    if count >= 4 {
        // Two words that overlap: the bytes that the second repeats are shifted out.
        let first = raw.loadUnaligned(as: UInt32.self).bigEndian
        let last = (raw + (count &- 4)).loadUnaligned(as: UInt32.self).bigEndian
        return UInt64(first) << 32 | UInt64(last << UInt32(8 &* (8 &- count)))
    }
    // The first, the middle and the last of one to three bytes, which may be one byte, each in its place.
    let bytes = { (index: Int) in UInt64(base[start &+ index]) << UInt64(56 &- 8 &* index) }
    return bytes(0) | bytes(count / 2) | bytes(count &- 1)
}

/// A hash of bytes: eight at a time, each mixed by a multiplication whose two halves are folded.
package func hashBytes(_ bytes: UnsafeBufferPointer<UInt8>, _ seed: UInt64) -> UInt64 {
    var hash = seed ^ UInt64(truncatingIfNeeded: bytes.count)
    guard let base = bytes.baseAddress else { return foldedProduct(hash) }
    let raw = UnsafeRawPointer(base)
    var position = 0
    while bytes.count &- position >= 8 {
        hash = foldedProduct(hash ^ raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        position &+= 8
    }
    if position == bytes.count { return hash }
    return foldedProduct(hash ^ leadingWord(bytes, from: position))
}

func foldedProduct(_ value: UInt64) -> UInt64 {
    let product = (value ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    return product.high ^ product.low
}

/// Whether every byte is below 128.
func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool { ByteSurvey(bytes).isASCII }

/// Facts about a block of bytes, gathered in one pass.
package struct ByteSurvey {
    /// Whether all are below 0x80, and so UTF-8 wherever they are cut.
    package var isASCII: Bool
    /// Whether, beyond that, none is below 0x20.
    package var isPlain: Bool

    package init(_ bytes: UnsafeRawBufferPointer) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        func survey(_ value: UInt64) {
            high |= value
            // A byte below 0x20 wraps, which sets its high bit; the borrow can only hide a bit above it.
            low |= value &- 0x2020_2020_2020_2020
        }
        if bytes.count >= 8 {
            var position = 0
            while position < bytes.count &- 8 {
                survey(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                position &+= 8
            }
            // The last eight, some of them for the second time.
            survey(bytes.loadUnaligned(fromByteOffset: bytes.count &- 8, as: UInt64.self))
        } else if bytes.count >= 4 {
            // The first four and the last four, as above.
            let first = bytes.loadUnaligned(as: UInt32.self)
            let last = bytes.loadUnaligned(fromByteOffset: bytes.count &- 4, as: UInt32.self)
            survey(UInt64(first) << 32 | UInt64(last))
        } else if let first = bytes.first {
            // The first, the middle and the last of one to three.
            let others = UInt64(bytes[bytes.count / 2]) << 8 | UInt64(bytes[bytes.count &- 1])
            survey(0x2020_2020_2000_0000 | UInt64(first) << 16 | others)
        }
        isASCII = high & 0x8080_8080_8080_8080 == 0
        isPlain = (high | low) & 0x8080_8080_8080_8080 == 0
    }
}

extension String {
    /// Lends the string's UTF-8 bytes for the time of the call, as `withUTF8` does, but with the error's type kept.
    @inlinable package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = self
        let result = copy.withUTF8 { utf8 -> Swift.Result<Result, Failure> in
            do throws(Failure) {
                return .success(try body(UnsafeRawBufferPointer(utf8)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension GrowableBuffer where Element == UInt8 {
    /// Appends the string's UTF-8 bytes.
    @inlinable package mutating func append(text: String) {
        // Unlike `withUTF8`, it needs no copy of the string to be made contiguous; strings that are not are rare.
        let isDone: Void? = text.utf8.withContiguousStorageIfAvailable { append($0) }
        guard isDone == nil else { return }
        for byte in text.utf8 { append(byte) }
    }
}

func isWhitespace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D
}

/// Whether a byte is one of `0` to `9`.
@inlinable package func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

func isHexadecimalDigit(_ byte: UInt8) -> Bool { hexadecimalValue(byte) != nil }

/// The value of a hexadecimal digit; nil for any other byte.
func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
