internal import PropertyLists

// Texts as booleans and numbers, as NSString reads them: the beginning counts, and no locale does.

/// Whether the first character behind spaces, a sign and zeros is a digit, or begins a "yes" or "true".
func truth(of text: String) -> Bool {
    var rest = text.utf8.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    if let first = rest.first, isSign(first) { rest = rest.dropFirst() }
    guard let first = rest.first(where: { $0 != UInt8(ascii: "0") }) else { return false }
    return isDigit(first) || "yYtT".utf8.contains(first)
}

/// The decimal number that a text begins with, behind white space; 0 where it begins with none.
func leadingReal(of text: String) -> Double {
    let bytes = Array(text.utf8)
    let start = bytes.firstIndex { $0 != UInt8(ascii: " ") && !(0x09...0x0D).contains($0) } ?? bytes.count
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

private func isSign(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") }

private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
