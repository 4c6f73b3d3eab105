/// A moment as calendar and clock show it in UTC, to the second; the Gregorian calendar in all years.
struct CalendarDate {
    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int

    /// The moment in text such as `2001-01-01T00:00:00Z`; nil for text of another form, or no such moment.
    ///
    /// A leap second, `23:59:60`, is the first of the next day.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard text.count == 20 else { return nil }
        for (position, mark) in [4: "-", 7: "-", 10: "T", 13: ":", 16: ":", 19: "Z"]
            as KeyValuePairs<Int, Unicode.Scalar>
        where text[position] != UInt8(ascii: mark) {
            return nil
        }
        func number(_ start: Int, _ length: Int) -> Int? {
            var value = 0
            for byte in text[start..<(start + length)] {
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
            }
            return value
        }
        guard let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), (1...12).contains(month),
            (1...Self.days(in: month, of: year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// The second in which the moment lies; nil outside the years 0 to 9999, which four digits can write.
    init?(secondsSince2001 seconds: Double) {
        let whole = seconds.rounded(.down)
        guard whole >= Self.firstSecond, whole < Self.endSecond else { return nil }
        let total = Int(whole)
        let dayNumber = (total - Self.mod(total, 86400)) / 86400
        let time = Self.mod(total, 86400)
        (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60)
        // Years begin in March here, so that the leap day is a year's last; eras have 400 years (146,097 days).
        let shifted = dayNumber + Self.daysBefore2001
        let era = (shifted - Self.mod(shifted, 146_097)) / 146_097
        let dayOfEra = Self.mod(shifted, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    var secondsSince2001: Double {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear - Self.mod(shiftedYear, 400)) / 400
        let yearOfEra = Self.mod(shiftedYear, 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - Self.daysBefore2001
        return Double(days * 86400 + hour * 3600 + minute * 60 + second)
    }

    /// Appends the 20 characters of the moment.
    func write(to output: inout GrowableBuffer<UInt8>) {
        func append(_ value: Int, _ digits: Int, _ mark: Unicode.Scalar) {
            var divisor = digits == 4 ? 1000 : 10
            while divisor > 0 {
                output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
                divisor /= 10
            }
            output.append(UInt8(ascii: mark))
        }
        append(year, 4, "-")
        append(month, 2, "-")
        append(day, 2, "T")
        append(hour, 2, ":")
        append(minute, 2, ":")
        append(second, 2, "Z")
    }

    /// Days from 0000-03-01 to 2001-01-01.
    private static let daysBefore2001 = 730_791
    /// 0000-01-01T00:00:00Z and 10000-01-01T00:00:00Z.
    private static let firstSecond = -63_145_526_400.0
    private static let endSecond = 252_423_993_600.0

    private static func mod(_ value: Int, _ modulus: Int) -> Int {
        let rest = value % modulus
        return rest < 0 ? rest + modulus : rest
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: return 30
        case 2: return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: return 31
        }
    }
}
