import Foundation
import PropertyLists
import TestSupport
import Testing

/// The stack that suffices for the walks of the deepest tree; without optimisation frames are several times as large.
#if DEBUG
private let stackSize = 8 << 20
#else
private let stackSize = 1 << 20
#endif

@Suite struct LimitTests {
    /// Nested arrays as text: `open`, `close` and what makes it a file.
    static func nested(_ depth: Int, _ format: PropertyListFormat) throws -> [UInt8] {
        switch format {
        case .xml:
            Array((String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)).utf8)
        case .json: Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        case .openStep: Array((String(repeating: "(", count: depth) + String(repeating: ")", count: depth)).utf8)
        case .binary: nestedBinary(depth)
        }
    }

    @Test("a text is given up as soon as it is too large", arguments: [PropertyListFormat.xml, .json])
    func boundedText(_ format: PropertyListFormat) throws {
        var list = try PropertyList(any: [Int](repeating: 1, count: 1000))
        for _ in 0..<100 { list = try PropertyList(any: [list]) }
        let size = try list.fileContents(as: format).count
        #expect(try list.fileContents(as: format, size: size).count == size)
        for most in [0, 1000, size - 1] {
            let error = #expect(throws: PropertyListError.self) { try list.fileContents(as: format, size: most) }
            #expect(error?.code == .limitExceeded)
            #expect(error?.message.hasPrefix("Expected a file of at most \(most) bytes") == true)
        }
    }

    /// Each array has 4-byte references, so that object n stands at offset 8 + 5n.
    private static func nestedBinary(_ depth: Int) -> [UInt8] {
        var file = Array("bplist00".utf8)
        for level in 1..<depth { file += [0xA1] + bigEndian(level, 4) }
        file += [0xA0]
        let table = file.count
        for level in 0..<depth { file += bigEndian(8 + 5 * level, 4) }
        return file + [0, 0, 0, 0, 0, 0, 4, 4] + bigEndian(depth, 8) + bigEndian(0, 8) + bigEndian(table, 8)
    }

    /// A binary file of these objects, the first of them on top; each reference has a byte.
    private static func binary(_ objects: [[UInt8]]) -> [UInt8] {
        var file = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets.append(UInt8(file.count))
            file += object
        }
        let counts = bigEndian(objects.count, 8) + bigEndian(0, 8) + bigEndian(file.count, 8)
        return file + offsets + [0, 0, 0, 0, 0, 0, 1, 1] + counts
    }

    private static func bigEndian(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    @Test("ends at the depth limit, however deep the file is", arguments: PropertyListFormat.allCases)
    func depth(_ format: PropertyListFormat) throws {
        for depth in [513, 10_000, 1_000_000] {
            let file = try Self.nested(depth, format)
            let error = propertyListError { _ = try PropertyList(parsing: file, as: format) }
            #expect(error?.code == .limitExceeded)
            #expect(error?.path.steps.count == 512)
        }
        #expect(try PropertyList(parsing: try Self.nested(512, format), as: format).count == 1)
        let shallow = PropertyListLimits(depth: 3)
        #expect(try PropertyList(parsing: try Self.nested(3, format), as: format, limits: shallow).count == 1)
        #expect(throws: PropertyListError.self) {
            try PropertyList(parsing: try Self.nested(4, format), as: format, limits: shallow)
        }
    }

    @Test("walks the deepest tree there may be on a small stack", arguments: PropertyListFormat.allCases)
    func stack(_ format: PropertyListFormat) async throws {
        let file = try Self.nested(PropertyListLimits.maximumDepth, format)
        let isEqual = await withCheckedContinuation { continuation in
            let thread = Thread {
                let limits = PropertyListLimits(depth: PropertyListLimits.maximumDepth)
                let list = try? PropertyList(parsing: file, as: format, limits: limits)
                let copies = [PropertyListFormat.xml, .binary, .json].map { copy in
                    try? list.flatMap {
                        try PropertyList(parsing: try $0.serialized(as: copy), as: copy, limits: limits)
                    }
                }
                continuation.resume(returning: list != nil && copies.allSatisfy { $0 == list })
            }
            thread.stackSize = stackSize
            thread.start()
        }
        #expect(isEqual)
    }

    @Test("says where in a binary file it is too deep")
    func place() throws {
        let file = try Self.nested(3, .binary)
        let error = propertyListError { _ = try PropertyList(parsing: file, limits: PropertyListLimits(depth: 2)) }
        #expect(error?.path == [0, 0])
        // Behind the reference to what is too deep.
        #expect(error?.location == .offset(18))
    }

    /// Sixteen times as much: a reader whose time grows with the square would take 256 times as long, and what else the
    /// machine does is far from the factor in between.
    // proves: G78
    @Test("reads long strings and large dictionaries in time that grows with the file")
    func linear() throws {
        func readString(_ entities: Int) throws {
            let text = "<string>" + String(repeating: "a&amp;", count: entities) + "</string>"
            #expect(try PropertyList(parsing: Array(text.utf8)).count == entities * 2)
        }
        func readDictionary(_ count: Int) throws {
            var keys = "{"
            for number in 0..<count { keys += "\"key\((number &* 7919) % count)\":\(number)," }
            let list = try PropertyList(parsing: Array((keys.dropLast() + "}").utf8), as: .json)
            #expect(list.count == count)
            #expect(try PropertyList(parsing: try list.serialized(as: .binary)) == list)
        }
        let clock = ContinuousClock()
        for read in [readString, readDictionary] {
            let few = try clock.measure { try read(10_000) }
            let many = try clock.measure { try read(160_000) }
            #expect(many < few * 100)
        }
    }

    @Test("counts shared objects before it makes them, by budgets that can be set")
    func budgets() throws {
        // [[1], [1]] is five nodes.
        let file = try #require(vectors("formats", of: FormatVector.self).first { $0.name == "a shared array" }).bytes
        #expect(try PropertyList(parsing: file, limits: PropertyListLimits(expandedNodes: 5)).count == 2)
        let error = propertyListError {
            _ = try PropertyList(parsing: file, limits: PropertyListLimits(expandedNodes: 4))
        }
        #expect(error?.code == .limitExceeded)
        #expect(error?.message == "Shared objects grow to more than 4 nodes")
        let long = try #require(
            vectors("formats", of: FormatVector.self).first { $0.name.hasPrefix("a long string shared") })
        let larger = PropertyListLimits(expandedBytes: 200 * 200 * 8192)
        #expect(try PropertyList(parsing: long.bytes, limits: larger).count == 200)
    }

    /// An array that is shared, and one that comes behind it: counting begins where the first is met again.
    private static let shared: [([[UInt8]], PropertyListLimits, String)] = [
        // [[1], [1], [1, 1, 1]] is nine nodes, of which the last array is the first too many.
        (
            [[0xA3, 1, 1, 3], [0xA1, 2], [0x10, 7], [0xA3, 2, 2, 2]], PropertyListLimits(expandedNodes: 8),
            "Shared objects grow to more than 8 nodes at [1] (byte 16)"
        ),
        // [["abcd"], ["abcd"], []] is eight bytes.
        (
            [[0xA3, 1, 1, 3], [0xA1, 2], [0x54, 0x61, 0x62, 0x63, 0x64], [0xA0]], PropertyListLimits(expandedBytes: 7),
            "Shared objects grow to more than 7 bytes at [1] (byte 12)"
        ),
        (
            [[0xA3, 1, 1, 3], [0xA1, 2], [0x10, 7], [0xA1, 4], [0xA0]], PropertyListLimits(depth: 2),
            "Deeper than 2 levels at [1] (byte 18)"
        ),
    ]

    @Test(
        "counts text and data that are shared in one array",
        arguments: [
            [0x5F, 0x10, 100] + Array(repeating: 0x61, count: 100),
            [0x4F, 0x10, 100] + Array(repeating: 0, count: 100),
            [0x6F, 0x10, 50] + Array(repeating: 0x61, count: 100),
        ] as [[UInt8]])
    func sharedText(_ object: [UInt8]) throws {
        let file = Self.binary([[0xAF, 0x10, 100] + Array(repeating: 1, count: 100), object])
        #expect(try PropertyList(parsing: file).count == 100)
        let error = propertyListError {
            _ = try PropertyList(parsing: file, limits: PropertyListLimits(expandedBytes: 5000))
        }
        #expect(error?.code == .limitExceeded)
        #expect(error?.message == "Shared objects grow to more than 5000 bytes")
    }

    @Test("counts what is shared up to the very limit, and says where it is exceeded", arguments: shared)
    func exact(_ objects: [[UInt8]], _ limits: PropertyListLimits, _ words: String) throws {
        let file = Self.binary(objects)
        var larger = limits
        larger.depth += 1
        larger.expandedNodes = limits.expandedNodes.map { $0 + 1 }
        larger.expandedBytes = limits.expandedBytes.map { $0 + 1 }
        #expect(try PropertyList(parsing: file, limits: larger).count == 3)
        let error = propertyListError { _ = try PropertyList(parsing: file, limits: limits) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.description == words)
    }

    @Test(
        "counts the values and keys of every file, where a caller says how many there may be",
        arguments: [
            "[1,2,[3]]", "{\"a\":1,\"b\":2}", "(1,2,(3))", "{a;b;}", "<array><true/><true/><true/><true/></array>",
        ])
    func counts(_ text: String) throws {
        let bytes = Array(text.utf8)
        #expect(try PropertyList(parsing: bytes, limits: PropertyListLimits(expandedNodes: 5)).count >= 2)
        let error = propertyListError {
            _ = try PropertyList(parsing: bytes, limits: PropertyListLimits(expandedNodes: 4))
        }
        #expect(error?.code == .limitExceeded)
        #expect(error?.message == "More than 4 values and keys")
    }

    /// The values and keys before the end, which is missing, are enough for the limit of 3, and the error says where.
    private static let refused: [(String, PropertyListFormat, Int)] = [
        ("[1,2,3,4", .json, 7), ("{a;a;a;", .openStep, 6), ("(1,2,3,4", .openStep, 8),
        ("<array><true/><true/><true/><true/>", .xml, 29),
    ]

    @Test("stops at the first value or key too many; a key that comes again counts, too", arguments: refused)
    func stopsAtLimit(_ text: String, _ format: PropertyListFormat, _ column: Int) throws {
        let error = propertyListError {
            _ = try PropertyList(parsing: Array(text.utf8), as: format, limits: PropertyListLimits(expandedNodes: 3))
        }
        #expect(error?.code == .limitExceeded)
        #expect(error?.message == "More than 3 values and keys")
        #expect(error?.location == .line(1, column: column))
    }

    @Test("stops at the first value too many of a binary file")
    func stopsAtLimitOfBinary() throws {
        // The last of four elements is a null, which is an error of its own.
        let file = Self.binary([[0xA4, 1, 2, 3, 4], [0x09], [0x09], [0x09], [0x00]])
        for (limit, message) in [(3, "More than 3 values and keys"), (4, "Expected a value, found null")] {
            let error = propertyListError {
                _ = try PropertyList(parsing: file, limits: PropertyListLimits(expandedNodes: limit))
            }
            #expect(error?.message == message)
        }
        // A scalar on top is a value, too.
        #expect(throws: PropertyListError.self) {
            try PropertyList(parsing: Self.binary([[0x09]]), limits: PropertyListLimits(expandedNodes: 0))
        }
    }
}
