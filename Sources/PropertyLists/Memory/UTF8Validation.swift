/// Whether the bytes are valid UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF (RFC 3629, section 4).
package func isValidUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    firstInvalidUTF8(bytes) == nil
}

/// The offset of the first sequence that is not valid UTF-8; nil when all of it is.
package func firstInvalidUTF8(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard let base = bytes.baseAddress else { return nil }
    let end = bytes.count
    var position = 0
    // Most strings are short and ASCII: these skip the steps below.
    if end <= 64, isASCII(bytes) { return nil }
    while position < end {
        if end &- position >= 8 {
            let word = (base + position).loadUnaligned(as: UInt64.self)
            if word & 0x8080_8080_8080_8080 == 0 {
                position &+= 8
                continue
            }
        }
        let lead = base.load(fromByteOffset: position, as: UInt8.self)
        if lead < 0x80 {
            position &+= 1
            continue
        }
        let length = utf8SequenceLength(base + position, available: end &- position)
        if length == 0 { return position }
        position &+= length
    }
    return nil
}

/// The length of the sequence of two to four bytes that starts here; 0 when it is not valid.
private func utf8SequenceLength(_ bytes: UnsafeRawPointer, available: Int) -> Int {
    func byte(_ index: Int) -> UInt8 { bytes.load(fromByteOffset: index, as: UInt8.self) }
    func continues(_ index: Int) -> Bool { byte(index) & 0xC0 == 0x80 }
    let lead = byte(0)
    switch lead {
    case 0xC2...0xDF:
        return available >= 2 && continues(1) ? 2 : 0
    case 0xE0...0xEF:
        guard available >= 3, continues(1), continues(2) else { return 0 }
        if lead == 0xE0 && byte(1) < 0xA0 { return 0 }
        if lead == 0xED && byte(1) > 0x9F { return 0 }
        return 3
    case 0xF0...0xF4:
        guard available >= 4, continues(1), continues(2), continues(3) else { return 0 }
        if lead == 0xF0 && byte(1) < 0x90 { return 0 }
        if lead == 0xF4 && byte(1) > 0x8F { return 0 }
        return 4
    default:
        return 0
    }
}
