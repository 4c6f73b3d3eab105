import Foundation
import PropertyLists
import TestSupport

/// Other readers of property lists, and their results for a file, in the notation of the vectors.
enum Oracle: String, CaseIterable, Sendable {
    case foundation
    case plistlib
    case libplist
}

/// The readers' results for files: a notation, "error", or nothing where an oracle is not installed.
struct Sightings {
    private var seen: [String: [Oracle: String]] = [:]

    subscript(path: String, oracle: Oracle) -> String? { seen[path]?[oracle] }

    init(of paths: [String]) throws {
        struct Row: Decodable {
            var file: String
            var plistlib: String?
            var libplist: String?
        }
        for line in try Self.runScript(on: paths).split(separator: "\n") {
            let row = try JSONDecoder().decode(Row.self, from: Data(line.utf8))
            seen[row.file, default: [:]][.plistlib] = row.plistlib
            seen[row.file, default: [:]][.libplist] = row.libplist.map(Self.notationOfFile)
        }
        for path in paths { seen[path, default: [:]][.foundation] = Self.foundation(path) }
    }

    private static func runScript(on paths: [String]) throws -> String {
        let list = FileManager.default.temporaryDirectory.appending(path: "oracles-\(UUID().uuidString)")
        try Data(paths.joined(separator: "\n").utf8).write(to: list)
        defer { try? FileManager.default.removeItem(at: list) }
        let script = testsFolder.appending(path: "Support/oracles.py").path
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", script, list.path]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }

    private static func notationOfFile(_ hex: String) -> String {
        guard hex != "error" else { return hex }
        let digits = Array(hex.utf8)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
        }
        let list = try? PropertyList(parsing: bytes)
        // The output for a file that cannot be read is a message.
        return list.map(notation) ?? "error"
    }

    private static func foundation(_ path: String) -> String {
        guard let data = FileManager.default.contents(atPath: path),
            let value = try? PropertyListSerialization.propertyList(from: data, options: [], format: nil)
        else { return "error" }
        return notation(foundation: value)
    }
}

/// A tree of Foundation's in the notation of the vectors; a UID, which Foundation hides, is `uid ?`.
private func notation(foundation value: Any) -> String {
    switch value {
    case let value as [Any]: return "[" + value.map(notation(foundation:)).joined(separator: ", ") + "]"
    case let value as [String: Any]:
        let keys = value.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return "{" + keys.map { quoted($0) + ": " + notation(foundation: value[$0] ?? "") }.joined(separator: ", ")
            + "}"
    case let value as String: return quoted(value)
    case let value as Data: return "<" + value.map { String(format: "%02x", $0) }.joined() + ">"
    case let value as Date: return "date " + decimal(value.timeIntervalSinceReferenceDate)
    case let value as NSNumber: return notation(number: value)
    default: return "uid ?"
    }
}

private func notation(number: NSNumber) -> String {
    switch String(cString: number.objCType) {
    case "c", "B": number.boolValue ? "true" : "false"
    case "d", "f": "real " + decimal(number.doubleValue)
    case "Q" where number.uint64Value > UInt64(Int64.max): "\(number.uint64Value)u"
    default: "\(number.int64Value)"
    }
}
