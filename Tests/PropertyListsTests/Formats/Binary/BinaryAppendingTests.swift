import PropertyLists
import Testing

@Suite struct BinaryAppendingTests {
    private static func lists() throws -> [PropertyList] {
        var lists = try ["", "a", "ü", String(repeating: "x", count: 40)].map { text in
            try build { builder throws(PropertyListError) in try builder.append(string: text) }
        }
        lists.append(try build { builder throws(PropertyListError) in try builder.append(boolean: true) })
        lists.append(try build { builder throws(PropertyListError) in try builder.append(integer: 70_000) })
        lists.append(try build { builder throws(PropertyListError) in try builder.append(unsigned: .max) })
        lists.append(try build { builder throws(PropertyListError) in try builder.append(real: 0.5) })
        lists.append(try build { builder throws(PropertyListError) in try builder.append(date: 1) })
        lists.append(try build { builder throws(PropertyListError) in try builder.append(uid: 7) })
        lists.append(try build { builder throws(PropertyListError) in try builder.append(data: [0, 1, 255]) })
        let array = try build { builder throws(PropertyListError) in
            try builder.beginArray()
            try builder.append(string: "x")
            try builder.append(string: "x")
            try builder.end()
        }
        return lists + [array, .emptyDictionary]
    }

    private static func build(
        _ body: (inout PropertyListBuilder) throws(PropertyListError) -> Void
    ) throws(PropertyListError) -> PropertyList {
        var builder = PropertyListBuilder()
        try body(&builder)
        return try builder.finish()
    }

    /// The value behind another one in an array.
    private static func appended(_ bytes: [UInt8]) throws(PropertyListError) -> PropertyList? {
        let list = try build { builder throws(PropertyListError) in
            try builder.beginArray()
            try builder.append(string: "before")
            try bytes.withUnsafeBufferPointer { bytes throws(PropertyListError) in
                try builder.append(binary: UnsafeRawBufferPointer(bytes), limits: PropertyListLimits())
            }
            try builder.end()
        }
        return list[1]
    }

    @Test("a binary value is appended, or refused, as it is read on its own")
    func agrees() throws {
        var refused = 0
        for list in try Self.lists() {
            let bytes = try list.serialized(as: .binary)
            #expect(try Self.appended(bytes) == list)
            for position in bytes.indices {
                for change: UInt8 in [1, 2, 8, 0x10, 0x40, 0x80, 0xFF] {
                    var damaged = bytes
                    damaged[position] ^= change
                    let alone = Result { () throws(PropertyListError) in
                        Optional(try PropertyList.parse(damaged, as: .binary).list)
                    }
                    #expect(Result { () throws(PropertyListError) in try Self.appended(damaged) } == alone)
                    if case .failure = alone { refused += 1 }
                }
            }
        }
        #expect(refused > 1000)
    }
}
