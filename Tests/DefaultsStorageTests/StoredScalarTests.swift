import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// What a database's rows are read by without a reader.
@Suite struct StoredScalarTests {
    private static let scalars: [any Sendable] = [
        true, false, 0, 1, 255, 256, 65_535, 65_536, 1 << 40, -1, Int.min, Int.max, 0.5, -Double.infinity, "", "a",
        String(repeating: "x", count: 14), String(repeating: "x", count: 15), String(repeating: "x", count: 200),
        Data(), Data([0, 1, 255]), Data(repeating: 7, count: 200),
    ]
    private static let others: [any Sendable] = [
        "ü", Date(timeIntervalSinceReferenceDate: 1), UInt64.max, [1], [String: Int](), ["a": "b"], [true, false],
        String(repeating: "x", count: 70_000), Data(repeating: 7, count: 300),
    ]

    private func appended(_ bytes: [UInt8]) throws -> PropertyList? {
        var builder = PropertyListBuilder()
        let isTaken = try bytes.withUnsafeBytes { bytes in try builder.append(storedScalar: bytes) }
        return isTaken ? try builder.finish() : nil
    }

    @Test("takes each scalar that our writer lays out so, and leaves the rest to the reader")
    func takes() throws {
        for value in Self.scalars {
            let list = try PropertyList(any: value)
            #expect(try appended(list.serialized(as: .binary)) == list)
        }
        for value in Self.others {
            #expect(try appended(PropertyList(any: value).serialized(as: .binary)) == nil)
        }
    }

    @Test("never takes bytes for another value than the reader does")
    func agrees() throws {
        var taken = 0
        for value in Self.scalars + Self.others {
            let bytes = try PropertyList(any: value).serialized(as: .binary)
            guard bytes.count < 1000 else { continue }
            for position in bytes.indices {
                for change: UInt8 in [1, 2, 8, 0x10, 0x40, 0x80, 0xFF] {
                    var damaged = bytes
                    damaged[position] ^= change
                    guard let list = try? appended(damaged) else { continue }
                    taken += 1
                    #expect(try PropertyList.parse(damaged, as: .binary).list == list)
                }
            }
            for count in bytes.indices { #expect(try appended(Array(bytes[..<count])) == nil) }
        }
        #expect(taken > 100)
    }

    @Test("a database reads back every kind of value, and says which row is damaged")
    func database() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("a.sqlite")
        let all = try PropertyList(
            any: Dictionary(uniqueKeysWithValues: (Self.scalars + Self.others).enumerated().map { ("k\($0)", $1) }))
        let first = try DefaultsStore.open(path: file)
        try first.set(all, at: [])
        try first.close()
        let second = try DefaultsStore.open(path: file, options: options { $0.isReadOnly = true })
        #expect(try second.snapshot() == all)
    }
}
