// Parsing and writing of the formats, beside Foundation, FoundationEssentials, libplist and plistlib in one run.
// `FormatBenchmarks ours` measures ours alone; `FormatBenchmarks memory FORMAT RECORDS` is run by itself.
import CPlist
import Foundation
import PropertyLists

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "memory" {
    try printMemory(format: arguments.contains("xml") ? .xml : .binary, records: Int(arguments.last ?? "") ?? 1000)
} else {
    let onlyOurs = arguments.first == "ours"
    // 10 MB of XML, 10 MB of binary, and 1 KB of each.
    try compare(.xml, records: 13_600, onlyOurs)
    try compare(.binary, records: 13_600, onlyOurs)
    try compare(.binary, records: 40_500, onlyOurs)
    try compare(.xml, records: 1, onlyOurs)
    try compare(.binary, records: 2, onlyOurs)
    try compareMemory(.xml, records: 13_600)
    try compareMemory(.binary, records: 40_500)
}

func compare(_ format: PropertyListFormat, records: Int, _ onlyOurs: Bool) throws {
    let file = Data(try sample(records: records).serialized(as: format))
    let isSmall = file.count < 100_000
    let repeats = isSmall ? 1000 : 1
    var figures = [
        (Ours.name, try measure(Ours.self, file, format, parseRuns: 7, writeRuns: 7, repeats: repeats))
    ]
    if !onlyOurs {
        figures += [
            (LibPlist.name, try measure(LibPlist.self, file, format, parseRuns: 5, writeRuns: 3, repeats: repeats)),
            (
                Serialization.name,
                try measure(Serialization.self, file, format, parseRuns: 3, writeRuns: 1, repeats: repeats)
            ),
            (Coders.name, try measure(Coders.self, file, format, parseRuns: 1, writeRuns: 1, repeats: repeats)),
        ]
        if !isSmall, let python = try measurePython(file, format, runs: 2) { figures.append(("plistlib", python)) }
    }
    report(format, file.count, figures)
}

/// Prints rows (report.py). A file of nearly 10 MB counts as 10 MB, and its times are scaled to that.
func report(_ format: PropertyListFormat, _ bytes: Int, _ figures: [(String, Times)]) {
    let isFull = abs(bytes - 10_000_000) < 1_000_000
    let scale = isFull ? 1e7 / Double(bytes) : 1
    let size = isFull ? "" : bytes < 10_000 ? ", \(bytes) bytes" : ", \(bytes / 1000) KB"
    row("\(format) parse" + size, "ms", figures.map { ($0, $1.parse * scale) })
    row("\(format) write" + size, "ms", figures.map { ($0, $1.write * scale) })
}

/// Prints a row; ours is the first.
func row(_ name: String, _ unit: String, _ figures: [(String, Double)]) {
    let peers = figures.dropFirst().map { "\($0)=\($1)" }
    print((["row", name, unit, "\(figures.first?.1 ?? .nan)"] + peers).joined(separator: "\t"))
}

// MARK: - Memory, each in a process of its own

func compareMemory(_ format: PropertyListFormat, records: Int) throws {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0])
    process.arguments = ["memory", format == .xml ? "xml" : "binary", "\(records)"]
    fflush(nil)
    try process.run()
    process.waitUntilExit()
}

func printMemory(format: PropertyListFormat, records: Int) throws {
    // Blocks from 64 KB on are returned to the system when they are freed, so that none of them hides a later one.
    mallopt(M_MMAP_THRESHOLD, 65536)
    let list = try sample(records: records)
    let bytes = try list.serialized(as: format)
    let parsed = try peakMemory { try PropertyList(parsing: bytes, as: format) }
    let written = try peakMemory { try list.serialized(as: format) }
    let what = "memory above the file and the tree"
    row("\(format) parse, \(what)", "MB", [("", Double(parsed - list.memory) / 1e6)])
    row("\(format) write, \(what)", "MB", [("", Double(written - bytes.count) / 1e6)])
}

extension PropertyList {
    /// Bytes of nodes and text.
    var memory: Int {
        switch kind {
        case .string, .data: 16 + count
        case .array: elements.reduce(16) { $0 + $1.memory }
        case .dictionary: entries.reduce(16) { $0 + 16 + $1.key.utf8.count + $1.value.memory }
        default: 16
        }
    }
}
