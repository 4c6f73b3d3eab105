import Foundation
import PropertyLists
import Testing

/// The bytes that a value takes in a file are never more than those counted, and not much fewer.
@Suite struct FileSizeTests {
    private static let texts = ["", "x", "<&>\r\n\t", "ü字\u{10348}", String(repeating: "plain text ", count: 30)]

    private func value(
        _ random: inout SystemRandomNumberGenerator, _ format: PropertyListFormat, depth: Int
    ) throws -> PropertyList {
        var builder = PropertyListBuilder()
        try append(&builder, &random, format, depth)
        return try builder.finish()
    }

    private func append(
        _ builder: inout PropertyListBuilder, _ random: inout SystemRandomNumberGenerator, _ format: PropertyListFormat,
        _ depth: Int
    ) throws {
        let text = Self.texts[Int.random(in: 0..<Self.texts.count, using: &random)]
        switch Int.random(in: 0..<(depth > 0 ? 10 : 8), using: &random) {
        case 0: try builder.append(boolean: .random(using: &random))
        case 1: try builder.append(integer: Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64))
        case 2: try builder.append(real: -Double.random(in: 0...1e-300, using: &random))
        case 3: try builder.append(string: text)
        case 4 where format != .json: try builder.append(data: Array(repeating: 7, count: .random(in: 0...200)))
        case 5 where format != .json: try builder.append(date: .random(in: -1e9...1e9, using: &random))
        case 6 where format != .json: try builder.append(uid: .random(in: 0 ... .max, using: &random))
        case 4...7: try builder.append(integer: .random(in: 0...9, using: &random))
        case 8:
            try builder.beginArray()
            for _ in 0..<Int.random(in: 0...5) { try append(&builder, &random, format, depth - 1) }
            try builder.end()
        default:
            try builder.beginDictionary()
            for number in 0..<Int.random(in: 0...5) {
                try builder.key(text + "\(number)")
                try append(&builder, &random, format, depth - 1)
            }
            try builder.end()
        }
    }

    @Test("no format takes more than is counted", arguments: [PropertyListFormat.xml, .binary, .json])
    func bounds(format: PropertyListFormat) throws {
        var random = SystemRandomNumberGenerator()
        for round in 0..<3000 {
            let list = try value(&random, format, depth: round % 30)
            let size = FileSize.frame + list.fileSize(as: format, depth: 0)
            let bytes = try max(list.serialized(as: format).count, list.fileContents(as: format).count)
            #expect(size.bytes >= bytes, "\(list)")
            #expect(size.nodes == list.documentNodes, "\(list)")
        }
    }

    @Test(
        "no format takes more for many values of one kind",
        arguments: [
            true, .init(Int64.min), 7, .init(UInt64.max), .init(-2.2250738585072014e-308), .init(Double.infinity),
            .init(Date(timeIntervalSinceReferenceDate: -0.1)), .init(PropertyListUID(.max)), .init(Data([1])),
            .init(Data(count: 100)), "", "<&>\r", "\u{10348}", "字", "\"\\", "\t\n", [], [:], [[[]]],
        ] as [PropertyList], [PropertyListFormat.xml, .binary, .json])
    func boundsKind(value: PropertyList, format: PropertyListFormat) throws {
        // As keys are counted, too; binary writes equal ones once.
        var entries: [String: Any] = [:]
        for number in 0..<500 { entries["\(number)\(value.string ?? "")"] = value }
        for list in [try PropertyList(any: Array(repeating: value, count: 500)), try PropertyList(any: entries)] {
            guard let bytes = try? list.serialized(as: format).count else {
                // A control character in XML, or a kind that JSON lacks.
                continue
            }
            #expect(FileSize.frame.bytes + list.fileSize(as: format, depth: 0).bytes >= bytes)
        }
    }

    @Test("the size of a value is that of its parts", arguments: [PropertyListFormat.xml, .binary, .json])
    func sums(format: PropertyListFormat) throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let inner = try value(&random, format, depth: 6)
            var builder = PropertyListBuilder()
            try builder.beginDictionary()
            try builder.key("a&key")
            try builder.append(inner)
            try builder.end()
            let whole = try builder.finish()
            let sum =
                FileSize(ofContainerAs: format, depth: 4) + inner.fileSize(as: format, depth: 5)
                + key("a&key", format, depth: 5)
            #expect(whole.fileSize(as: format, depth: 4) == sum)
        }
    }

    private func key(_ key: String, _ format: PropertyListFormat, depth: Int) -> FileSize {
        key.withBytes { FileSize(ofKey: $0.bindMemory(to: UInt8.self), as: format, depth: depth) }
    }

    @Test("what usual settings take is counted to a half more", arguments: [PropertyListFormat.xml, .binary, .json])
    func isClose(format: PropertyListFormat) throws {
        var settings: [String: Any] = [:]
        for number in 0..<500 {
            settings["window.\(number)"] = ["title": "Window number \(number)", "width": 640 + number, "open": true]
        }
        let list = try PropertyList(any: settings)
        let counted = list.fileSize(as: format, depth: 0).bytes
        #expect(counted < (try list.fileContents(as: format).count) * (format == .binary ? 4 : 2))
    }
}

extension PropertyList {
    /// Values and keys.
    fileprivate var documentNodes: Int {
        switch kind {
        case .array: elements.reduce(1) { $0 + $1.documentNodes }
        case .dictionary: entries.reduce(1) { $0 + 1 + $1.value.documentNodes }
        default: 1
        }
    }
}
