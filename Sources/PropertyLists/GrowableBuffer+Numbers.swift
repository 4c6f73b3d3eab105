extension GrowableBuffer where Element == UInt8 {
    @inline(__always) mutating func append(decimal value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        append(decimal: value.magnitude)
    }

    @inline(__always) mutating func append(decimal value: UInt64) {
        reserve(20)
        var length = 1
        var bound: UInt64 = 10
        while length < 20, value >= bound {
            length &+= 1
            bound = length == 20 ? .max : bound &* 10
        }
        guard let base else { return }
        var rest = value
        var position = count &+ length
        count = position
        repeat {
            position &-= 1
            base[position] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while position > count &- length
    }

    /// Appends the shortest decimal that reads back to the same number.
    ///
    /// - Parameter keepsPoint: whether a whole number shows its kind, `1.0`, or not, `1`.
    mutating func append(shortest value: Double, keepsPoint: Bool) {
        if value.rounded(.towardZero) == value, value.magnitude < 1e15, value != 0 || value.sign == .plus {
            append(decimal: Int64(value))
            if keepsPoint { append(text: ".0") }
            return
        }
        value.description.withBytes { text in
            let isWhole =
                text.count > 2 && text[text.count - 1] == UInt8(ascii: "0")
                && text[text.count - 2] == UInt8(ascii: ".")
            let kept = isWhole && !keepsPoint ? text.count - 2 : text.count
            append(UnsafeRawBufferPointer(rebasing: text[..<kept]).bindMemory(to: UInt8.self))
        }
    }

    @inline(__always) mutating func append(text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
