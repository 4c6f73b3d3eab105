internal import PropertyLists

// Texts as booleans and numbers, as NSString reads them: the beginning counts, and no locale does.

/// Whether a text begins with a "y" or "t", or with a number other than 0, behind white space.
func truth(of text: String) -> Bool {
    var rest = text.utf8.drop(while: isSpace)
    if let first = rest.first, "yYtT".utf8.contains(first) { return true }
    if let first = rest.first, isSign(first) { rest = rest.dropFirst() }
    return rest.first { $0 != UInt8(ascii: "0") }.map(isDigit) ?? false
}

/// The decimal number that a text begins with, behind white space; 0 where it begins with none.
func leadingReal(of text: String) -> Double {
    let bytes = Array(text.utf8)
    let start = bytes.prefix(while: isSpace).count
    var end = start
    func skip(_ isWanted: (UInt8) -> Bool, most: Int = .max) -> Int {
        let first = end
        while end < bytes.count, end - first < most, isWanted(bytes[end]) { end += 1 }
        return end - first
    }
    _ = skip(isSign, most: 1)
    var digits = skip(isDigit)
    if skip({ $0 == UInt8(ascii: ".") }, most: 1) == 1 { digits += skip(isDigit) }
    guard digits > 0 else { return 0 }
    let mantissa = end
    if skip({ $0 | 0x20 == UInt8(ascii: "e") }, most: 1) == 1 {
        _ = skip(isSign, most: 1)
        if skip(isDigit) == 0 { end = mantissa }
    }
    return bytes[start..<end].withUnsafeBufferPointer { realNumber($0) } ?? 0
}

private func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte) }

private func isSign(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") }
