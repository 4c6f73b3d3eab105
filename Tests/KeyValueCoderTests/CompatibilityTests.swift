import Foundation
import Testing

@Suite struct CompatibilityTests {
    /// The program's output where it behaves as it does with KeyValueCoder 0.9, which is written down here: that package
    /// is not fetched, and the program is compiled against this module alone.
    private let expected = """
        keys: ["name", "price", "tags"]
        price: 7.5
        tags: ["white", "cold"]
        decoded: true
        inferred: crab
        list: ["long"]
        width: Int8
        encoder's defaults: true
        decoder's defaults: true
        shared: true
        strategies: 5
        closure: 5
        flags: [true, false]
        kind: typeMismatch String: Expected String at SELF[0].name, found Int
        missing: keyNotFound name: Dictionary does not contain key SELF[0].name
        array: typeMismatch Dictionary<String, Any>: Expected Dictionary<String, Any> at SELF, found Array<Int>
        exact: typeMismatch Int: Double at SELF, cannot be exactly represented by Int
        rounding: 11
        clamping: [10, 21, 127, -128]
        clamping integers: 0
        date: Date
        date: Int64
        date: Int64
        date: String
        fraction: 1970-01-01T00:00:01.500Z
        custom: ["1.5"]
        read: 2.0
        read: 2.0
        read: 2.0
        read: 2.0
        read: 0.0
        read: 2.0
        snake: ["first_name", "home_url"]
        camel: true
        default: 2
        removed: [1]
        removed alone: nil
        string: [1, "$null"]
        null: true
        placeholder: [1, -1]
        holes: true
        text: true
        isNull: [true, true, true, true]
        alias: true
        stored: true
        stored price: 7.5
        absent: nil
        flag: true
        removed key: nil

        """

    /// Beside this test's own program, where the build puts all programs of the package.
    private var program: URL {
        get throws {
            let folders = CommandLine.arguments.prefix(1) + [Bundle.main.bundlePath, ".build/debug", ".build/release"]
            let candidates = folders.flatMap { folder in
                let url = URL(filePath: folder)
                return [url, url.deletingLastPathComponent()].map { $0.appending(path: "CompatibilityProgram") }
            }
            return try #require(candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) })
        }
    }

    // proves: G82
    @Test("a program written for KeyValueCoder 0.9 compiles as it is, and prints what it printed")
    func runsProgram() throws {
        let process = Process()
        process.executableURL = try program
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(String(decoding: printed, as: UTF8.self) == expected)
    }
}
