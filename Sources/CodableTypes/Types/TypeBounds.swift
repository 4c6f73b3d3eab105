/// The bounds of a number or a length, either of which may be missing.
///
/// Written as Swift writes ranges: `1...10`, `0..<1`, `1...`, `...10`, `..<1`.
struct TypeBounds<Bound: Comparable & Hashable & Sendable>: Sendable, Hashable {
    let low: Bound?
    let high: Bound?
    /// Whether the upper bound is itself left out.
    let isHalfOpen: Bool

    /// Nil where no number is within, or both bounds are missing.
    init?(low: Bound?, high: Bound?, isHalfOpen: Bool = false) {
        if let low, let high, isHalfOpen ? low >= high : low > high { return nil }
        if low == nil, high == nil { return nil }
        (self.low, self.high, self.isHalfOpen) = (low, high, isHalfOpen)
    }

    func contains(_ number: Bound) -> Bool {
        if let low, !(number >= low) { return false }
        if let high, !(isHalfOpen ? number < high : number <= high) { return false }
        // Not-a-number is within no bounds: every comparison with it is false.
        return number == number
    }
}

extension TypeBounds: CustomStringConvertible {
    var description: String {
        "\(low.map { "\($0)" } ?? "")\(isHalfOpen ? "..<" : "...")\(high.map { "\($0)" } ?? "")"
    }
}

extension TypeBounds where Bound: FixedWidthInteger {
    /// Bounds of whole numbers, always closed: `0..<3` becomes `0...2`.
    static func whole(low: Bound?, high: Bound?, isHalfOpen: Bool) -> TypeBounds? {
        guard isHalfOpen, let high else { return TypeBounds(low: low, high: high) }
        let (last, overflow) = high.subtractingReportingOverflow(1)
        return overflow ? nil : TypeBounds(low: low, high: last)
    }
}
