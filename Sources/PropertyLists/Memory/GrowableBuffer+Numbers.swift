extension GrowableBuffer where Element == UInt8 {
    mutating func append(decimal value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        append(decimal: value.magnitude)
    }

    mutating func append(decimal value: UInt64) {
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
        if appendShort(value) { return }
        value.description.withBytes { text in
            let isWhole =
                text.count > 2 && text[text.count - 1] == UInt8(ascii: "0")
                && text[text.count - 2] == UInt8(ascii: ".")
            let kept = isWhole && !keepsPoint ? text.count - 2 : text.count
            append(UnsafeRawBufferPointer(rebasing: text[..<kept]).bindMemory(to: UInt8.self))
        }
    }

    /// Appends a number of up to 14 digits, some of them behind the point; false for any other.
    ///
    /// Such a number is a whole number divided by a power of ten, both exact in a Double, so that digits that read back
    /// to the same number are found by trying. The first such digits are the shortest.
    private mutating func appendShort(_ value: Double) -> Bool {
        let magnitude = value.magnitude
        guard magnitude >= 0.001, magnitude < 1e13 else { return false }
        var power = 1.0
        for digits in 1...14 {
            power *= 10
            let whole = (magnitude * power).rounded()
            guard whole < 5e14 else { return false }
            if whole / power == magnitude {
                if value < 0 { append(UInt8(ascii: "-")) }
                append(UInt64(whole), pointBefore: digits)
                return true
            }
        }
        return false
    }

    private mutating func append(_ number: UInt64, pointBefore digits: Int) {
        var power: UInt64 = 1
        for _ in 0..<digits { power *= 10 }
        append(decimal: number / power)
        append(UInt8(ascii: "."))
        var rest = number % power
        while power > 1 {
            power /= 10
            append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest / power))
            rest %= power
        }
    }

    /// Appends a text of the program.
    mutating func append(text: StaticString) {
        reserve(text.utf8CodeUnitCount)
        guard let base else { return }
        UnsafeMutableRawPointer(base + count).copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        count &+= text.utf8CodeUnitCount
    }

    /// Appends tabs, eight at a time.
    mutating func append(tabs: Int) {
        reserve(tabs &+ 8)
        guard let base else { return }
        var written = 0
        repeat {
            UnsafeMutableRawPointer(base + count + written).storeBytes(of: 0x0909_0909_0909_0909, as: UInt64.self)
            written &+= 8
        } while written < tabs
        count &+= tabs
    }
}
