import Foundation
import PropertyLists
import TestSupport
import Testing

@Suite("Differences from other readers", .disabled(if: Corpus.isAbsent, "KVCODABLE_CORPUS is not set"))
struct DifferentialTests {
    /// Files whose graphs some of the others cannot survive are left out.
    private static var files: [Corpus.File] {
        let all = Corpus.files(in: "valid") + Corpus.files(in: "archives") + Corpus.files(in: "invalid")
        return all.filter { !$0.name.hasPrefix("invalid/handmade") }
    }

    /// Why another reader sees something else; the table in Formats.md says which of the two is right, and why.
    enum Reason: Sendable {
        /// It reads no OpenStep text.
        case openStep
        /// It takes UTF-8 in an ASCII string for Latin-1, or for an error.
        case utf8AsASCII
        /// It rejects references to control characters.
        case control
        /// It does not know UIDs in XML.
        case uid
        /// It is asked through XML, which ends its dates at the second.
        case fraction
        /// Its strings end at a zero.
        case zero
    }

    private static func expectedDifference(_ file: Corpus.File, _ ours: String, _ oracle: Oracle) -> Reason? {
        let name = String(file.name.split(separator: "/").last ?? "")
        let isBinary = file.bytes.starts(with: Array("bplist".utf8))
        switch (oracle, name) {
        case (.foundation, "iTunes-small.bplist"), (.foundation, "sample1.bplist"): return .utf8AsASCII
        case (.plistlib, "iTunes-small.bplist"), (.plistlib, "sample1.bplist"): return .utf8AsASCII
        case (.plistlib, "JSON_javascriptcore_tests.plist"), (.libplist, "JSON_javascriptcore_tests.plist"):
            return .control
        case (.libplist, "date_future.plist"), (.libplist, "date_recent.plist"):
            return .fraction
        case (.libplist, "test_oldStylePlist_getSlashedChars_octal_expected.plist"),
            (.libplist, "test_oldStylePlist_getSlashedChars_unicode_expected.plist"):
            return .zero
        case (.plistlib, _), (.libplist, _):
            let format = file.bytes.withUnsafeBytes { PropertyListFormat.detect($0) }
            if format == .openStep && ours != "error" { return .openStep }
            return !isBinary && ours.contains("uid ") ? .uid : nil
        default: return nil
        }
    }

    @Test("differs from the others only in the files that are named")
    func readsAlike() throws {
        let root = try #require(Corpus.folder).path + "/"
        let files = Self.files
        let seen = try Sightings(of: files.map { root + $0.name })
        for oracle in Oracle.allCases {
            var compared = 0
            for file in files {
                guard let other = seen[root + file.name, oracle] else { continue }
                compared += 1
                var ours = (try? PropertyList(parsing: file.bytes)).map(notation) ?? "error"
                let reason = Self.expectedDifference(file, ours, oracle)
                if oracle == .foundation { ours = ours.replacing(/uid [0-9]+/, with: "uid ?") }
                #expect((ours != other) == (reason != nil), "\(oracle), \(file.name): \(other.prefix(200))")
            }
            #expect(compared == files.count || oracle == .libplist && compared == 0)
        }
    }

    // proves: G76
    @Test("writes what the others read back equal", arguments: [PropertyListFormat.xml, .binary])
    func writesAlike(_ format: PropertyListFormat) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "written-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var lists: [String: PropertyList] = [:]
        for (number, file) in Self.files.enumerated() where file.bytes.count < 200_000 {
            // Its strings show escapes of zeros beside zeros, which libplist's cannot be told from.
            guard !file.name.hasSuffix("JSON_javascriptcore_tests.plist") else { continue }
            guard let list = try? PropertyList(parsing: file.bytes), let written = try? list.serialized(as: format)
            else { continue }
            let path = folder.appending(path: "\(number)").path
            try Data(written).write(to: URL(filePath: path))
            lists[path] = list
        }
        #expect(lists.count > 200)
        let seen = try Sightings(of: lists.keys.sorted())
        for (path, list) in lists {
            for oracle in Oracle.allCases {
                guard let other = seen[path, oracle] else { continue }
                #expect(other == Self.expected(notation(list), oracle, format), "\(oracle)")
            }
        }
    }

    /// The parts of a tree that an oracle can see: without UIDs in XML, fractions of seconds and zeros, as the table
    /// says.
    private static func expected(_ ours: String, _ oracle: Oracle, _ format: PropertyListFormat) -> String {
        var text = ours
        if format == .xml || oracle == .libplist {
            text = text.replacing(/date (-?[0-9]+\.[0-9]+)/) { "date \(Int((Double($0.1) ?? 0).rounded(.down)))" }
        }
        if oracle == .libplist { text = text.replacing(/\\u0000[^"]*"/, with: "\"") }
        if oracle == .foundation { return text.replacing(/uid [0-9]+/, with: "uid ?") }
        return format == .xml ? text.replacing(/uid ([0-9]+)/) { "{\"CF$UID\": \($0.1)}" } : text
    }
}
