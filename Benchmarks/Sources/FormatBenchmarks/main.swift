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
    let unit = isSmall ? "µs" : "ms"
    print("\n\(format), \(decimal(Double(file.count) / 1000)) KB (\(unit), best of runs, and as a multiple of ours)")
    let ours = try measure(Ours.self, file, format, parseRuns: 7, writeRuns: 7, repeats: repeats)
    show(Ours.name, ours, ours, isSmall)
    guard !onlyOurs else { return }
    show(
        LibPlist.name, try measure(LibPlist.self, file, format, parseRuns: 5, writeRuns: 2, repeats: repeats), ours,
        isSmall)
    show(
        Serialization.name, try measure(Serialization.self, file, format, parseRuns: 2, writeRuns: 1, repeats: repeats),
        ours, isSmall)
    show(
        Coders.name, try measure(Coders.self, file, format, parseRuns: 1, writeRuns: 1, repeats: repeats), ours, isSmall
    )
    guard !isSmall, let python = try measurePython(file, format, runs: 2) else { return }
    show("Python plistlib", python, ours, isSmall)
}

func show(_ name: String, _ times: Times, _ ours: Times, _ isSmall: Bool) {
    let scale = isSmall ? 1000.0 : 1
    let label = name.padding(toLength: 40, withPad: " ", startingAt: 0)
    print(
        label, "parse", decimal(times.parse * scale), "(\(decimal(times.parse / ours.parse)))",
        " write", decimal(times.write * scale), "(\(decimal(times.write / ours.write)))")
}

func decimal(_ value: Double) -> String { String(format: "%.2f", value) }

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
    let nodes = list.memory
    print(
        "\n\(format) memory above the file and the tree, in MB: parse", megabytes(parsed), "of", megabytes(nodes),
        "in the tree; write \(megabytes(try peakMemory { try list.serialized(as: format) })) of",
        megabytes(bytes.count), "in the file")
}

func megabytes(_ bytes: Int) -> String { decimal(Double(bytes) / 1e6) }

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
