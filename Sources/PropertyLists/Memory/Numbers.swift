/// A whole number written in decimal, or in hexadecimal behind `0x`, with a sign or without.
enum IntegerText {
    case integer(Int64)
    /// Above `Int64.max`.
    case unsigned(UInt64)
    /// A number that 64 bits cannot hold.
    case tooLarge

    /// Nil for anything else.
    init?(_ text: UnsafeBufferPointer<UInt8>, allowsHexadecimal: Bool = true) {
        var position = 0
        var isNegative = false
        if let first = text.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
            isNegative = first == UInt8(ascii: "-")
            position = 1
        }
        var radix: UInt64 = 10
        if allowsHexadecimal, text.count > position + 2, text[position] == UInt8(ascii: "0"),
            text[position + 1] | 0x20 == UInt8(ascii: "x")
        {
            radix = 16
            position += 2
        }
        guard position < text.count else { return nil }
        var magnitude: UInt64 = 0
        var isTooLarge = false
        while position < text.count {
            guard let digit = hexadecimalValue(text[position]), digit < radix else { return nil }
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: radix)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
            isTooLarge = isTooLarge || overflow || carry
            magnitude = sum
            position += 1
        }
        self = isTooLarge ? .tooLarge : Self.signed(magnitude, isNegative)
    }

    private static func signed(_ magnitude: UInt64, _ isNegative: Bool) -> IntegerText {
        if !isNegative { return Int64(exactly: magnitude).map { .integer($0) } ?? .unsigned(magnitude) }
        guard magnitude <= UInt64(Int64.max) + 1 else { return .tooLarge }
        return .integer(Int64(bitPattern: 0 &- magnitude))
    }
}

/// The number that a decimal with a point or exponent is nearest to; nil for anything else, infinity included.
///
/// Up to 15 digits and a power of ten up to 22 are exact in a Double, so that one multiplication or division gives the
/// nearest number; the rest goes to the standard library, which is exact and knows no locale.
package func realNumber(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
    guard let decimal = DecimalText(text) else { return nil }
    if decimal.digits <= 15, abs(decimal.exponent) <= 22 {
        let value = Double(decimal.significand)
        let power = powersOfTen[abs(decimal.exponent)]
        let magnitude = decimal.exponent < 0 ? value / power : value * power
        return decimal.isNegative ? -magnitude : magnitude
    }
    return Double(String(decoding: text, as: UTF8.self))
}

/// `nan`, `inf` and `infinity`, with a sign or without, in any case.
func namedReal(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
    guard text.count <= 9 else { return nil }
    switch String(decoding: text, as: UTF8.self).lowercased() {
    case "nan", "+nan", "-nan": return .nan
    case "inf", "+inf", "infinity", "+infinity": return .infinity
    case "-inf", "-infinity": return -.infinity
    default: return nil
    }
}

private let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
]

/// The parts of a decimal number: `[+-] digits [. digits] [e [+-] digits]`, with a digit before or behind the point.
private struct DecimalText {
    var isNegative = false
    /// The digits as a number, exact while there are at most 19.
    var significand: UInt64 = 0
    /// Digits without leading zeros.
    var digits = 0
    /// The power of ten that the significand is multiplied by.
    var exponent = 0

    init?(_ text: UnsafeBufferPointer<UInt8>) {
        var position = 0
        if let first = text.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
            isNegative = first == UInt8(ascii: "-")
            position = 1
        }
        let whole = scanDigits(text, &position)
        var fraction = 0
        if position < text.count, text[position] == UInt8(ascii: ".") {
            position += 1
            fraction = scanDigits(text, &position)
            exponent = -fraction
        }
        guard whole + fraction > 0 else { return nil }
        if position < text.count, text[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            guard scanExponent(text, &position) else { return nil }
        }
        guard position == text.count else { return nil }
    }

    /// Gives the number of digits.
    private mutating func scanDigits(_ text: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> Int {
        let start = position
        while position < text.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[position]) {
            significand = significand &* 10 &+ UInt64(text[position] &- UInt8(ascii: "0"))
            if digits > 0 || significand > 0 { digits += 1 }
            position += 1
        }
        return position - start
    }

    private mutating func scanExponent(_ text: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> Bool {
        var isNegative = false
        if position < text.count, text[position] == UInt8(ascii: "-") || text[position] == UInt8(ascii: "+") {
            isNegative = text[position] == UInt8(ascii: "-")
            position += 1
        }
        let start = position
        var value = 0
        while position < text.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[position]) {
            value = min(value * 10 + Int(text[position] &- UInt8(ascii: "0")), 100_000)
            position += 1
        }
        exponent += isNegative ? -value : value
        return position > start
    }
}
