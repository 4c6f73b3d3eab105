import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// The rows of a database, each a binary property list.
@Suite struct RowTests {
    private static let values: [any Sendable] = [
        true, false, 0, 1, 255, 256, 65_535, 65_536, 1 << 40, -1, Int.min, Int.max, 0.5, -Double.infinity, "", "a",
        String(repeating: "x", count: 14), String(repeating: "x", count: 15), String(repeating: "x", count: 200),
        Data(), Data([0, 1, 255]), Data(repeating: 7, count: 200),
        "ü", Date(timeIntervalSinceReferenceDate: 1), UInt64.max, [1], [String: Int](), ["a": "b"], [true, false],
        String(repeating: "x", count: 70_000), Data(repeating: 7, count: 300),
    ]

    @Test("a database reads back every kind of value")
    func database() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("a.sqlite")
        let all = try PropertyList(
            any: Dictionary(uniqueKeysWithValues: Self.values.enumerated().map { ("k\($0)", $1) }))
        let first = try DefaultsStore.open(path: file)
        try first.set(all, at: [])
        try first.close()
        let second = try DefaultsStore.open(path: file, options: options { $0.isReadOnly = true })
        #expect(try second.snapshot() == all)
    }
}
