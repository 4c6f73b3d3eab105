import PropertyLists
import Testing

@Suite struct TreeBuilderTests {
    @Test("builds nested containers with keys in byte order")
    func buildsNested() throws {
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        try builder.key("b")
        try builder.beginArray()
        try builder.append(integer: 1)
        try builder.append(string: "two")
        try builder.end()
        try builder.key("a")
        try builder.append(real: 0.5)
        try builder.end()
        let list = try builder.finish()
        #expect(list.keys == ["a", "b"])
        #expect(list["a"]?.real == 0.5)
        #expect(list["b"]?[1]?.string == "two")
        #expect(list.value(at: ["b", 0])?.integer == 1)
        #expect(list["c"] == nil)
        #expect(list["b"]?[2] == nil)
        #expect(list["b"]?[-1] == nil)
    }

    @Test("holds a scalar of every kind")
    func holdsEveryScalar() throws {
        var builder = PropertyListBuilder()
        try builder.beginArray()
        try builder.appendNull()
        try builder.append(boolean: true)
        try builder.append(integer: .min)
        try builder.append(unsigned: .max)
        try builder.append(unsigned: 7)
        try builder.append(real: -0.0)
        try builder.append(date: 1.25)
        try builder.append(uid: .max)
        try builder.append(string: "é")
        try builder.append(data: [0, 255])
        try builder.end()
        let list = try builder.finish()
        let kinds: [PropertyListKind] = [
            .null, .boolean, .integer, .unsigned, .integer, .real, .date, .uid, .string, .data,
        ]
        #expect(list.elements.map(\.kind) == kinds)
        #expect(list[2]?.integer == .min)
        #expect(list[3]?.unsigned == .max)
        #expect(list[5]?.real?.sign == .minus)
        #expect(list[6]?.date == 1.25)
        #expect(list[7]?.uid == .max)
        #expect(list[8]?.string == "é")
        #expect(list[9]?.data == [0, 255])
    }

    @Test(
        "the last value of a key wins, at every level and in dictionaries of every size", arguments: [2, 15, 17, 400])
    func lastDuplicateWins(count: Int) throws {
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        for round in 0..<2 {
            for index in (0..<count).reversed() {
                try builder.key("shared-prefix-\(index)")
                try builder.beginArray()
                try builder.append(integer: Int64(round * count + index))
                try builder.end()
            }
        }
        try builder.end()
        let list = try builder.finish()
        #expect(list.count == count)
        for index in 0..<count { #expect(list["shared-prefix-\(index)"]?[0]?.integer == Int64(count + index)) }
        #expect(
            list.keys == (0..<count).map { "shared-prefix-\($0)" }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        )
        #expect(list.document.nodeCount == 1 + 3 * count)
    }

    @Test("entries that are removed leave no node behind, and those that come later stay")
    func removesEntries() throws {
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        for (key, number) in [("a", 1), ("b", 2), ("a", 3)] as [(String, Int64)] {
            try builder.key(key)
            try builder.append(integer: number)
        }
        builder.removeEntries(["a": 2, "b": 1])
        try builder.end()
        let list = try builder.finish()
        #expect(list == (try PropertyList(any: ["a": 3, "b": 2])))
        #expect(list.document.nodeCount == 5)
    }

    @Test("where no entry is removed, an earlier value of a key still leaves no node behind")
    func removesNoEntry() throws {
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        try builder.key("inner")
        try builder.beginDictionary()
        for number: Int64 in [1, 2] {
            try builder.key("a")
            try builder.append(integer: number)
        }
        try builder.end()
        builder.removeEntries(["b": 1])
        try builder.end()
        let list = try builder.finish()
        #expect(list == (try PropertyList(any: ["inner": ["a": 2]])))
        #expect(list.document.nodeCount == 5)
    }

    @Test("reset forgets all that was written, whatever was open")
    func resets() throws {
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: 2))
        for _ in 0..<2 {
            try builder.beginArray()
            try builder.append(string: "forgotten")
            try builder.beginDictionary()
            try builder.key("a")
            let error = #expect(throws: PropertyListError.self) { try builder.beginArray() }
            #expect(error == PropertyListError(.limitExceeded, "Deeper than 2 levels", at: [1, "a"]))
            builder.reset()
        }
        try builder.append(string: "kept")
        let list = try builder.finish()
        #expect(list.string == "kept")
        #expect(list.document.nodeCount == 1)
        #expect(list.document.byteCount == 4)
    }

    @Test("keys that differ only by normalisation are two keys")
    func keepsLookAlikeKeys() throws {
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        try builder.key("\u{E9}")
        try builder.append(integer: 1)
        try builder.key("e\u{301}")
        try builder.append(integer: 2)
        try builder.end()
        let list = try builder.finish()
        #expect(list.count == 2)
        #expect(list["\u{E9}"]?.integer == 1)
        #expect(list["e\u{301}"]?.integer == 2)
    }

    @Test(
        "bytes that are no UTF-8 are an error that points to data",
        arguments: [
            [0xFF], [0x61, 0x80], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
            [0xE0, 0x9F, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x92],
            [0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0xC3],
        ] as [[UInt8]])
    func rejectsInvalidUTF8(bytes: [UInt8]) throws {
        var builder = PropertyListBuilder()
        try builder.beginArray()
        try builder.append(integer: 0)
        let error = #expect(throws: PropertyListError.self) {
            try bytes.withUnsafeBytes { try builder.append(utf8: $0) }
        }
        #expect(error?.code == .invalidValue)
        #expect(error?.path == [1])
        #expect(error?.message.hasPrefix("Expected UTF-8 in a string, found invalid bytes after") == true)
        #expect(error?.message.hasSuffix("use data for bytes") == true)
    }

    @Test("a key that is no UTF-8 is an error, too")
    func rejectsInvalidKeys() throws {
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        let error = #expect(throws: PropertyListError.self) {
            try ([0x61, 0xFF] as [UInt8]).withUnsafeBytes { try builder.key(utf8: $0) }
        }
        #expect(error?.code == .invalidValue)
        #expect(error?.path == [])
        #expect(error?.message == "Expected UTF-8 in a key, found invalid bytes after 1; use data for bytes")
    }

    @Test("valid UTF-8 of every length is kept byte for byte")
    func keepsUTF8() throws {
        for text in [
            "", "a", "\u{0}", "\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}", "\u{D7FF}", "\u{E000}", "\u{40000}",
            String(repeating: "aé€😀", count: 50),
        ] {
            var builder = PropertyListBuilder()
            try builder.beginArray()
            try builder.append(string: text)
            try Array(text.utf8).withUnsafeBytes { try builder.append(utf8: $0) }
            try builder.end()
            let list = try builder.finish()
            #expect(list[0]?.string?.utf8.elementsEqual(text.utf8) == true)
            #expect(list[1]?.string?.utf8.elementsEqual(text.utf8) == true)
        }
    }

    @Test("depth is counted while building")
    func limitsDepth() throws {
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: 3))
        try builder.beginArray()
        try builder.beginDictionary()
        try builder.key("x")
        try builder.beginArray()
        let error = #expect(throws: PropertyListError.self) { try builder.beginArray() }
        #expect(error == PropertyListError(.limitExceeded, "Deeper than 3 levels", at: [0, "x", 0]))
    }

    @Test("use out of order is an error, never a trap")
    func reportsMisuse() throws {
        func error(_ body: (inout PropertyListBuilder) throws -> Void) -> String? {
            var builder = PropertyListBuilder()
            do {
                try body(&builder)
                return nil
            } catch let error as PropertyListError {
                return error.code == .misuse ? error.message : "another error"
            } catch { return "another error" }
        }
        #expect(error { _ = try $0.finish() } == "no value was written")
        #expect(error { try $0.end() } == "an end without a begin")
        #expect(error { try $0.key("a") } == "a key where a value is expected")
        #expect(
            error {
                try $0.append(integer: 1)
                try $0.append(integer: 2)
            } == "a second value at the root")
        #expect(
            error {
                try $0.beginDictionary()
                try $0.append(integer: 1)
            } == "a value where a key is expected")
        #expect(
            error {
                try $0.beginDictionary()
                try $0.beginArray()
            } == "a value where a key is expected")
        #expect(
            error {
                try $0.beginDictionary()
                try $0.append(PropertyList.emptyDictionary)
            } == "a value where a key is expected")
        #expect(
            error {
                try $0.beginDictionary()
                try $0.key("a")
                try $0.key("b")
            } == "a key where a value is expected")
        #expect(
            error {
                try $0.beginDictionary()
                try $0.key("a")
                try $0.end()
            } == "an end where a key waits for its value")
        #expect(
            error {
                try $0.beginArray()
                _ = try $0.finish()
            } == "a container is still open")
    }
}
