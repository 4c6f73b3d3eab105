import Foundation
import PropertyLists

struct Mismatch: Error, CustomStringConvertible {
    let description: String
}

/// The median time of some runs, in milliseconds.
func median<Result>(of runs: Int, _ work: () throws -> Result) rethrows -> Double {
    var times: [Double] = []
    for _ in 0..<runs {
        let start = ContinuousClock.now
        let result = try work()
        let time = ContinuousClock.now - start
        withExtendedLifetime(result) {}
        times.append(Double(time.components.attoseconds) / 1e15 + Double(time.components.seconds) * 1000)
    }
    return times.sorted()[(runs - 1) / 2]
}

/// Times of parsing and writing, in milliseconds.
struct Times {
    var parse = 0.0
    var write = 0.0
}

/// Times one peer on a file, after its tree, written by it, was read by ours and found equal.
func measure<P: Peer>(
    _ peer: P.Type, _ file: Data, _ format: PropertyListFormat, parseRuns: Int, writeRuns: Int, repeats: Int = 1
) throws -> Times {
    let tree = try P.parse(file, format)
    let written = try P.write(tree, format)
    let list = try Ours.parse(file, format)
    guard try Ours.parse(Data(written), format) == list else { throw Mismatch(description: "\(P.name) differs") }
    let scale = 1 / Double(repeats)
    return Times(
        parse: try median(of: parseRuns) { for _ in 0..<repeats { _ = try P.parse(file, format) } } * scale,
        write: try median(of: writeRuns) { for _ in 0..<repeats { _ = try P.write(tree, format) } } * scale)
}

/// Python's plistlib in a process of its own; nil where there is none.
func measurePython(_ file: Data, _ format: PropertyListFormat, runs: Int) throws -> Times? {
    let path = NSTemporaryDirectory() + "format-benchmark-\(ProcessInfo.processInfo.processIdentifier).plist"
    defer { unlink(path) }
    try file.write(to: URL(filePath: path))
    let script = """
        import plistlib, sys, time
        data = open(sys.argv[1], "rb").read()
        format = plistlib.FMT_XML if sys.argv[2] == "XML" else plistlib.FMT_BINARY
        parse = write = 1e9
        for _ in range(int(sys.argv[3])):
            start = time.perf_counter(); tree = plistlib.loads(data); parse = min(parse, time.perf_counter() - start)
            start = time.perf_counter(); out = plistlib.dumps(tree, fmt=format)
            write = min(write, time.perf_counter() - start)
        open(sys.argv[1], "wb").write(out)
        print(parse * 1000, write * 1000)
        """
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script, path, "\(format)", "\(runs)"]
    let pipe = Pipe()
    process.standardOutput = pipe
    guard (try? process.run()) != nil else { return nil }
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { return nil }
    guard try Ours.parse(try Data(contentsOf: URL(filePath: path)), format) == Ours.parse(file, format) else {
        throw Mismatch(description: "plistlib differs")
    }
    let numbers = String(decoding: output, as: UTF8.self).split { $0 == " " || $0 == "\n" }.compactMap { Double($0) }
    return numbers.count == 2 ? Times(parse: numbers[0], write: numbers[1]) : nil
}

// MARK: - Memory

/// Bytes of memory that the work takes at its highest, above what was there before.
func peakMemory<Result>(of work: () throws -> Result) throws -> Int {
    // Writing 5 resets the high-water mark to what is in use now (Linux, proc(5)).
    try Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
    let before = try status("VmRSS")
    let result = try work()
    let peak = try status("VmHWM")
    withExtendedLifetime(result) {}
    return peak - before
}

private func status(_ name: String) throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return (line?.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }.first ?? 0) * 1024
}
