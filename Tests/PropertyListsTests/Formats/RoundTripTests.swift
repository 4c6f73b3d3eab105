import PropertyLists
import TestSupport
import Testing

@Suite struct RoundTripTests {
    static let scalars: [@Sendable (inout PropertyListBuilder) throws -> Void] = [
        { try $0.append(boolean: true) }, { try $0.append(boolean: false) },
        { try $0.append(integer: 0) }, { try $0.append(integer: 255) }, { try $0.append(integer: 256) },
        { try $0.append(integer: 65536) }, { try $0.append(integer: 4_294_967_296) }, { try $0.append(integer: -1) },
        { try $0.append(integer: .min) }, { try $0.append(integer: .max) }, { try $0.append(unsigned: .max) },
        { try $0.append(unsigned: UInt64(Int64.max) + 1) },
        { try $0.append(real: -0.0) }, { try $0.append(real: .nan) }, { try $0.append(real: .infinity) },
        { try $0.append(real: -.infinity) }, { try $0.append(real: 0.1) }, { try $0.append(real: 1e300) },
        { try $0.append(real: .leastNonzeroMagnitude) }, { try $0.append(real: .greatestFiniteMagnitude) },
        { try $0.append(real: 123_456_789_012_345_680) }, { try $0.append(real: 3) }, { try $0.append(real: 1.0 / 3) },
        { try $0.append(date: 0) }, { try $0.append(date: 785_404_800.25) }, { try $0.append(date: -0.1) },
        { try $0.append(date: -63_114_076_800) }, { try $0.append(date: 64_092_211_200) },
        { try $0.append(date: -1e-20) },
        { try $0.append(uid: 0) }, { try $0.append(uid: 300) }, { try $0.append(uid: .max) },
        { try $0.append(string: "") }, { try $0.append(string: "plain") }, { try $0.append(string: "<&>\"'\r\n\t") },
        { try $0.append(string: "naïve 日本 👩‍👩‍👧 \u{FFFD}") }, { try $0.append(string: String(repeating: "x", count: 300)) },
        { try $0.append(string: String(repeating: "é", count: 70000)) },
        { try $0.append(data: [UInt8]()) }, { try $0.append(data: [1]) }, { try $0.append(data: [1, 2]) },
        { try $0.append(data: (0..<1000).map { UInt8($0 & 255) }) },
        {
            try $0.beginArray()
            try $0.end()
        },
        {
            try $0.beginDictionary()
            try $0.end()
        },
    ]

    @Test("keeps every kind of value", arguments: [PropertyListFormat.xml, .binary])
    func keepsScalars(_ format: PropertyListFormat) throws {
        for scalar in Self.scalars {
            var builder = PropertyListBuilder()
            try scalar(&builder)
            let list = try builder.finish()
            let (read, found) = try PropertyList.parse(try list.serialized(as: format))
            #expect(read == list, "\(notation(list)) came back as \(notation(read))")
            #expect(found == format)
        }
    }

    // proves: G76
    @Test("keeps all of them together, nested, with look-alike keys", arguments: [PropertyListFormat.xml, .binary])
    func keepsNested(_ format: PropertyListFormat) throws {
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        for (number, scalar) in Self.scalars.enumerated().reversed() {
            try builder.key("key \(number)")
            try scalar(&builder)
        }
        try builder.key("e\u{301}")
        try builder.append(integer: 1)
        try builder.key("\u{E9}")
        try builder.beginArray()
        for scalar in Self.scalars + Self.scalars { try scalar(&builder) }
        try builder.end()
        try builder.end()
        let list = try builder.finish()
        #expect(list.count == Self.scalars.count + 2)
        #expect(try PropertyList(parsing: try list.serialized(as: format)) == list)
    }
}
