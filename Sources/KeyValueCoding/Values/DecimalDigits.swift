package import FoundationEssentials
internal import PropertyLists

/// A decimal number as its digits, for exact conversion to integers of any width.
package struct DecimalDigits {
    private(set) var isNegative: Bool
    private var whole: String
    private var fraction: Substring

    /// Nil for a Decimal that is not a number.
    init?(_ value: Decimal) {
        guard !value.isNaN else { return nil }
        let text = value.description
        isNegative = text.hasPrefix("-")
        let parts = text.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
        guard let first = parts.first, first.allSatisfy(\.isNumber) else { return nil }
        whole = String(first)
        fraction = parts.count > 1 ? parts[1] : ""
    }

    var isIntegral: Bool { fraction.allSatisfy { $0 == "0" } }

    /// The whole part with its sign.
    var integer: String { isNegative ? "-" + whole : whole }

    /// Makes the number whole.
    mutating func round(_ rule: FloatingPointRoundingRule) {
        let away =
            switch rule {
            case .towardZero: false
            case .awayFromZero: !isIntegral
            case .up: !isIntegral && !isNegative
            case .down: !isIntegral && isNegative
            case .toNearestOrAwayFromZero: isHalfOrMore
            case .toNearestOrEven: isHalfOrMore && (!isHalf || endsOdd)
            @unknown default: isHalfOrMore
            }
        fraction = ""
        if away { increment() }
    }

    private var isHalfOrMore: Bool { fraction.first.map { $0 >= "5" } ?? false }
    private var isHalf: Bool { fraction.first == "5" && fraction.dropFirst().allSatisfy { $0 == "0" } }
    private var endsOdd: Bool { whole.last.map { "13579".contains($0) } ?? false }

    private mutating func increment() {
        let nines = whole.reversed().prefix { $0 == "9" }.count
        let head = whole.dropLast(nines)
        let raised = head.last.flatMap(\.wholeNumberValue).map { "\(head.dropLast())\($0 + 1)" } ?? "1"
        whole = raised + String(repeating: "0", count: nines)
    }

    /// The number that a text spells, the text whole; nil where it is none or a `Decimal` cannot hold all its digits.
    /// `NaN` is how a `Decimal` that is not a number is written.
    package static func number(_ text: String) -> Decimal? {
        if text == "NaN" { return .nan }
        let digits = text.utf8.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !digits.isEmpty, text.utf8.allSatisfy(isPart) else { return nil }
        guard let value = Decimal(string: text), !value.isNaN else { return nil }
        return value
    }

    /// Whether a text is surely the description of the `Decimal` that it spells: at most 36 digits without superfluous
    /// zeros. Finding that by a `Decimal` takes microseconds.
    package static func isCanonical(_ text: UnsafeRawBufferPointer) -> Bool {
        let digits = text.first == UInt8(ascii: "-") ? text.dropFirst() : text[...]
        guard digits.count <= 36, let first = digits.first, isDigit(first) else { return false }
        let whole = digits.prefix(while: isDigit)
        guard first != UInt8(ascii: "0") || whole.count == 1 else { return false }
        let rest = digits.dropFirst(whole.count)
        guard let point = rest.first else { return first != UInt8(ascii: "0") || digits.count == text.count }
        let fraction = rest.dropFirst()
        guard point == UInt8(ascii: "."), let last = fraction.last else { return false }
        return last != UInt8(ascii: "0") && fraction.allSatisfy(isDigit)
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }
}
