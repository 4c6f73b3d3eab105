import PropertyLists

/// Records such as an address book has: strings, numbers, dates, nested containers, a little data.
func sample(records: Int) throws -> PropertyList {
    var random = Random(state: 42)
    var builder = PropertyListBuilder()
    try builder.beginDictionary()
    try builder.key("records")
    try builder.beginArray()
    for number in 0..<records { try append(record: number, to: &builder, &random) }
    try builder.end()
    try builder.key("version")
    try builder.append(integer: 3)
    try builder.end()
    return try builder.finish()
}

private func append(record number: Int, to builder: inout PropertyListBuilder, _ random: inout Random) throws {
    try builder.beginDictionary()
    try builder.key("identifier")
    try builder.append(integer: Int64(number))
    try builder.key("name")
    try builder.append(string: "Person \(random.next() % 100_000) Surname\(random.next() % 1000)")
    try builder.key("email")
    try builder.append(string: "person\(number)@example.org")
    try builder.key("balance")
    // Never a whole number, which the coders of Foundation would take for an integer.
    try builder.append(real: Double(random.next() % 10_000_000) / 100 + 0.001)
    try builder.key("active")
    try builder.append(boolean: random.next() & 1 == 0)
    try builder.key("created")
    try builder.append(date: Double(random.next() % 800_000_000))
    try builder.key("key")
    try builder.append(data: (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    try builder.key("tags")
    try builder.beginArray()
    for _ in 0..<3 { try builder.append(string: "tag\(random.next() % 50)") }
    try builder.end()
    try builder.key("address")
    try builder.beginDictionary()
    try builder.key("street")
    try builder.append(string: "Main & Side Street \(random.next() % 500)")
    try builder.key("city")
    try builder.append(string: "Zürich \(random.next() % 90)")
    try builder.key("code")
    try builder.append(integer: Int64(random.next() % 99999))
    try builder.end()
    try builder.end()
}

private struct Random {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }
}
