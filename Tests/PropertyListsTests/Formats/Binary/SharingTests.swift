import PropertyLists
import Testing

/// Equal strings and data stand in a binary file once, but never so often shared that our reader would refuse it.
@Suite struct SharingTests {
    /// The binary file as a writer makes it for readers with these limits.
    private func file(_ list: PropertyList, _ limits: PropertyListLimits) throws -> [UInt8] {
        var output = GrowableBuffer<UInt8>()
        try list.write(as: .binary, to: &output, limits: limits)
        return Array(output.contents)
    }

    @Test(
        "what is written is read, however much of it is equal",
        arguments: ["x", "ü", "x\u{10348}", "字"].flatMap { text in [1, 7, 60, 400].map { (text, $0) } })
    func readsBack(text: String, length: Int) throws {
        var limits = PropertyListLimits()
        limits.sharedBytes = 500
        let long = String(repeating: text, count: length)
        for count in [1, 2, 16, 17, 18, 31, 100] {
            let strings = try PropertyList(any: [String](repeating: long, count: count))
            #expect(try PropertyList(parsing: file(strings, limits), as: .binary, limits: limits) == strings)
            let keys = try PropertyList(any: [[String: String]](repeating: [long: long], count: count))
            #expect(try PropertyList(parsing: file(keys, limits), as: .binary, limits: limits) == keys)
            let data = try PropertyList(
                any: [Any](repeating: [UInt8](long.utf8), count: count) + [long, ["short": long, long: "short"]])
            #expect(try PropertyList(parsing: file(data, limits), as: .binary, limits: limits) == data)
        }
    }

    @Test("what the reader takes is still shared")
    func shares() throws {
        var limits = PropertyListLimits()
        limits.sharedBytes = 10_000
        let list = try PropertyList(any: [String](repeating: String(repeating: "x", count: 1000), count: 200))
        // Ten are in the budget, and sixteen for each that is written.
        let size = try file(list, limits).count
        #expect((12_000...14_000).contains(size), "\(size)")
        limits.sharedBytes = 200_000
        #expect(try file(list, limits).count < 1500)
    }

    @Test("each value stands in a file once, however many there are", arguments: [1, 100, 127, 128, 1000, 20_000])
    func once(count: Int) throws {
        let numbers = Array(0..<count)
        let values: [Any] = numbers + numbers.map { "\($0)" } + numbers + numbers.map { "\($0)" }
        let list = try PropertyList(any: values)
        let file = try list.serialized(as: .binary)
        let objects = file[(file.count - 24)..<(file.count - 16)].reduce(0) { $0 << 8 | Int($1) }
        #expect(objects == 1 + 2 * count)
        #expect(try PropertyList(parsing: file) == list)
    }

    @Test("a thousand equal strings of 70 kB are read back, which 0.1.0 refused")
    func large() throws {
        let list = try PropertyList(any: [String](repeating: String(repeating: "x", count: 70_000), count: 1000))
        let bytes = try list.serialized(as: .binary)
        #expect(bytes.count < 1_000_000)
        #expect(try PropertyList(parsing: bytes, as: .binary) == list)
    }
}
