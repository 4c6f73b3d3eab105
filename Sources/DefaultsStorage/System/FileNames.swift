internal import Glibc

/// The time in UTC as file names show it: `20261121T080000Z`.
func currentTime() -> String {
    var now = Glibc.time(nil)
    var parts = tm()
    gmtime_r(&now, &parts)
    let numbers = [
        Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday), Int(parts.tm_hour), Int(parts.tm_min),
        Int(parts.tm_sec),
    ]
    let digits = numbers.map { $0 < 10 ? "0\($0)" : "\($0)" }
    return digits[0...2].joined() + "T" + digits[3...5].joined() + "Z"
}

/// A short text that cannot be guessed, for the names of temporary files.
func randomName() -> String { String(UInt64.random(in: 1 << 62 ... .max), radix: 36) }

/// Whether a name is one of ``randomName()``: no name that a person would give.
func isRandomName(_ name: some StringProtocol) -> Bool {
    (10...13).contains(name.utf8.count) && UInt64(name, radix: 36) != nil
}
