import Foundation
import PropertyLists
import Testing

@testable import DefaultsStorage

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

    @Test("a parameter that SQLite does not take is an error, and not a NULL")
    func parameters() throws {
        let folder = try TemporaryFolder()
        let connection = try SQLiteConnection(folder.file("a.sqlite"), isReadOnly: false)
        defer { connection.close() }
        let statement = try connection.prepare("SELECT ?1")
        defer { connection.finalize(statement) }
        let bytes: [UInt8] = [1]
        #expect(throws: DefaultsError.self) { try connection.bind(statement, 2, integer: 1) }
        #expect(throws: DefaultsError.self) { try connection.bind(statement, 2, blob: nil) }
        try bytes.withUnsafeBufferPointer { text in
            #expect(throws: DefaultsError.self) { try connection.bind(statement, 2, text: text) }
            #expect(throws: DefaultsError.self) {
                try connection.bind(statement, 2, blob: UnsafeRawBufferPointer(text))
            }
            try connection.bind(statement, 1, text: text)
        }
    }
}
