internal import CodableTypes
internal import PropertyLists
internal import Testing

@Suite("Typed values, encoded") struct TypeEncodingTests {
    @Test(
        "gives the stored form of a value that nothing is stored for",
        arguments: [
            Row("Int", 5.0, 5), Row("Double", 5, 5.0), Row("[Int?]", [1, nil] as [Int?], [1, "$null"]),
            Row("Int?", Int?.none as Any, "$null"), Row("[Int]", [String: Int](), [Int]()),
            Row(
                "Window", ["width": 1, "title": "a", "tags": [String](), "theme": "dark", "draft": 5],
                ["width": 1, "window_title": "a"]),
            Row("Window", ["width": 1, "tags": [String: Int]()], ["width": 1]),
            Row("Window", ["width": 1, "title": Int?.none as Any, "theme": "light"], ["width": 1, "theme": "light"]),
            Row("[String: Window]", ["a": ["width": 1.0]], ["a": ["width": 1]]),
        ])
    func encodes(_ row: Row) throws {
        let encoded = try makeType(row.text, window).encode(tree(row.given))
        #expect(try encoded.list == tree(row.wanted))
        #expect(encoded.droppedElements == 0)
    }

    @Test(
        "keeps what the type does not know of the stored value",
        arguments: [
            Row(
                "defaults stay where the key was", [["width": 1, "theme": "light"], ["width": 2, "theme": "dark"]],
                ["width": 2, "theme": "dark"]),
            Row(
                "an absent field with a default is written where the key was",
                [["width": 1, "theme": "light"], ["width": 2]],
                ["width": 2, "theme": "dark"]),
            Row("an absent optional is removed", [["width": 1, "window_title": "a"], ["width": 2]], ["width": 2]),
            Row(
                "unknown keys stay", [["": 0, "width": 1, "z": [1], "a": ["b": 2]], ["width": 2]],
                ["": 0, "width": 2, "z": [1], "a": ["b": 2]]),
            Row(
                "the name of a renamed field is unknown", [["title": "t", "width": 1], ["width": 1, "title": "s"]],
                ["title": "t", "window_title": "s", "width": 1]),
            Row("another kind is replaced", [[1, 2], ["width": 2]], ["width": 2]),
        ])
    func keepsUnknown(_ row: Row) throws {
        let given = try tree(row.given)
        let type = try makeType("Window", window)
        let stored = try #require(given[0])
        let value = try #require(given[1])
        #expect(try type.encode(value, over: stored).list == tree(row.wanted))
        let replaced = try type.encode(value, over: stored, options: .init(replaces: true)).list
        #expect(try replaced == type.encode(value).list)
    }

    @Test("keeps unknown keys in structs of structs and of dictionaries")
    func keepsNested() throws {
        let type = try makeType(
            "[String: Outer]", "struct Outer { inner: Inner; list: [Inner] = [] } struct Inner { n: Int }")
        let stored = try tree(["a": ["x": 1, "inner": ["n": 1, "y": 2]], "gone": ["inner": ["n": 5]]])
        let value = try tree(["a": ["inner": ["n": 9]], "b": ["inner": ["n": 3]]])
        let wanted = try tree(["a": ["x": 1, "inner": ["n": 9, "y": 2]], "b": ["inner": ["n": 3]]])
        #expect(try type.encode(value, over: stored).list == wanted)
    }

    /// Elements are written `known/unknown`; the stored ones, then the new ones, then what is to be stored.
    @Test(
        "matches the elements of arrays",
        arguments: [
            ("1/a 2/b 3/c", "1 2 3", "1/a 2/b 3/c", 0), ("1/a 2/b", "1 2 3", "1/a 2/b 3", 0),
            ("1/a 2/b", "0 1 2", "0 1/a 2/b", 0), ("1/a 2/b 3/c", "1 3", "1/a 3/c", 1),
            ("1/a 2 3/c", "1 3", "1/a 3/c", 0),
            ("1/a 2/b 3/c", "3 2 1", "3/c 2/b 1/a", 0), ("1/a 2/b 3/c", "1 9 3", "1/a 9/b 3/c", 0),
            ("1/a 2/b", "1 9 3", "1/a 9 3", 1), ("1/a 2/b", "9 2 3", "9/a 2/b 3", 0),
            ("1/a 1/b 1/c", "1 1 1", "1/a 1/b 1/c", 0), ("1/a 1/b 2/c", "2 1 1", "2/c 1/a 1/b", 0),
            ("1/a 1/b", "1", "1/a", 1), ("1/a 2/b 3/c 4/d", "4 1 2 3", "4/d 1/a 2/b 3/c", 0),
            ("1/a 2/b", "", "", 2), ("", "1", "1", 0), ("1/a 2/b 3/c", "3 1", "3/c 1/a", 1),
        ])
    func matchesElements(_ old: String, _ new: String, _ wanted: String, _ dropped: Int) throws {
        let type = try makeType("[A]", "struct A { n: Int }")
        let encoded = try type.encode(elements(new), over: elements(old))
        #expect(try encoded.list == elements(wanted))
        #expect(encoded.droppedElements == dropped)
    }

    private func elements(_ text: String) throws -> PropertyList {
        try tree(
            text.split(separator: " ").map { word -> [String: Any] in
                let parts = word.split(separator: "/")
                let known: [String: Any] = ["n": Int(parts[0]) ?? 0]
                return parts.count == 1 ? known : known.merging(["x": String(parts[1])]) { $1 }
            })
    }

    @Test("matches long arrays that have nothing or everything in common in time in proportion")
    func matchesLongArrays() throws {
        let type = try makeType("[A]", "struct A { n: Int }")
        let old = try tree((0..<20_000).map { ["n": $0 < 10_000 ? 7 : $0, "x": $0] })
        let shuffled = try tree([["n": 19_999]] + (0..<19_999).map { ["n": $0 < 10_000 ? 7 : $0] })
        let moved = try type.encode(shuffled, over: old)
        #expect(moved.droppedElements == 0)
        #expect(moved.list[0] == old[19_999])
        let other = try tree((0..<20_001).map { ["n": -$0 - 1] })
        #expect(try type.encode(other, over: old).droppedElements == 20_000)
    }

    @Test(
        "says what is not of the type, and where",
        arguments: [
            Row("Window", ["width": 1, "widht": 2], "Window has no field widht at SELF; did you mean width?"),
            Row("Window", ["width": 1, "zzzzz": 2], "Window has no field zzzzz at SELF"),
            Row("Window", ["width": 1, "window_title": "a"], "Window has no field window_title at SELF"),
            Row("Window", ["width": 1, "títle": "a"], "Window has no field títle at SELF; did you mean title?"),
            Row("Window", ["title": "a"], "Dictionary does not contain key SELF.width"),
            Row("Window", ["width": 0], "Expected 1...16384 at SELF.width, found 0"),
            Row("Window", ["width": 1, "title": 5], "Expected String at SELF.title, found Int"),
            Row(
                "[Window]", [["width": 1], ["width": 1, "tags": [1]]], "Expected String at SELF[1].tags[0], found Int"),
            Row("[Int]", ["a": 1], "Expected Array<Any> at SELF, found Dictionary<String, Any>"),
            Row("Any", ["a": [1, nil] as [Int?]], "Expected Any at SELF.a[1], found nil"),
            Row("Int", Int?.none as Any, "Expected BinaryInteger at SELF, found nil"),
        ])
    func refuses(_ row: Row) throws {
        let type = try makeType(row.text, window)
        let value = try tree(row.given)
        let error = typeError { _ = try type.encode(value) }
        #expect(error?.message(firstIndex: 0, root: "SELF") == row.wanted as? String)
        #expect(error?.isAboutType == false)
    }

    @Test(
        "encoding what was decoded changes nothing",
        arguments: [Row("[Window]", ["width": 1], 0), Row("[Window]", ["width": 7, "theme": "dark", "x": 1], 0)])
    func roundTrips(_ row: Row) throws {
        let type = try makeType(row.text, window)
        let stored = try tree([row.given, row.given])
        #expect(try type.encode(type.decode(stored), over: stored).list == stored)
    }
}
