import FoundationEssentials
import PropertyLists
import Testing

@Suite struct TreeValueTests {
    @Test("equality is exact")
    func equalityIsExact() throws {
        let values: [Any] = [
            true, 1, 1.0, UInt64.max, 0.0, -0.0, "1", Data([49]), Date(timeIntervalSinceReferenceDate: 1), [1],
            ["a": 1],
            [String: Any](), [Any](), PropertyListUID(1), Any?.none as Any, "e\u{301}", "\u{E9}",
        ]
        for (left, leftValue) in values.enumerated() {
            for (right, rightValue) in values.enumerated() {
                let equal = try PropertyList(any: leftValue) == PropertyList(any: rightValue)
                #expect(equal == (left == right), "\(leftValue) and \(rightValue)")
            }
        }
        #expect(try PropertyList(any: Double.nan) == PropertyList(any: Double.nan))
        #expect(try PropertyList(any: ["b": 1, "a": [2]]) == PropertyList(any: ["a": [2], "b": 1]))
        #expect(try PropertyList(any: [1, 2]) != PropertyList(any: [2, 1]))
        #expect(try PropertyList(any: ["a": 1]) != PropertyList(any: ["b": 1]))
    }

    @Test("an Any becomes a document and the same Any again")
    func roundTripsAny() throws {
        let value: [String: Any] = [
            "flag": true, "int": -3, "big": UInt64.max, "real": 2.5, "text": "ü", "bytes": Data([1, 2]),
            "when": Date(timeIntervalSinceReferenceDate: 12.5), "list": [1, "two", [3.0]] as [Any],
            "uid": PropertyListUID(9),
        ]
        let back = try #require(try PropertyList(any: value).any() as? [String: Any])
        #expect(back["flag"] as? Bool == true)
        #expect(back["int"] as? Int == -3)
        #expect(back["big"] as? UInt64 == .max)
        #expect(back["real"] as? Double == 2.5)
        #expect(back["bytes"] as? Data == Data([1, 2]))
        #expect(back["when"] as? Date == Date(timeIntervalSinceReferenceDate: 12.5))
        #expect(back["uid"] as? PropertyListUID == PropertyListUID(9))
        #expect(try PropertyList(any: back) == PropertyList(any: value))
    }

    @Test("URL, UUID and Decimal become strings, small integers keep their value")
    func convertsToTree() throws {
        let id = UUID()
        #expect(try PropertyList(any: id).string == id.uuidString)
        #expect(try PropertyList(any: URL(string: "https://example.com/a") as Any).string == "https://example.com/a")
        #expect(try PropertyList(any: Decimal(string: "1.10") as Any).string == "1.1")
        #expect(try PropertyList(any: Int8(-5)).integer == -5)
        #expect(try PropertyList(any: UInt16(5)).integer == 5)
    }

    @Test("what no property list holds is an error with its path")
    func rejectsOtherTypes() throws {
        struct Other {}
        let error = #expect(throws: PropertyListError.self) { try PropertyList(any: ["a": [1, Other()] as [Any]]) }
        #expect(
            error == PropertyListError(.invalidValue, .expected("a property-list value", found: "Other"), at: ["a", 1]))
        let wide = #expect(throws: PropertyListError.self) { try PropertyList(any: [Int128.max]) }
        #expect(wide?.message == "Expected an integer of 64 bits, found 170141183460469231731687303715884105727")
    }

    @Test("keys that Swift would merge are an error on the way to Any")
    func rejectsLookAlikeKeys() throws {
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        for key in ["\u{E9}", "e\u{301}"] {
            try builder.key(key)
            try builder.append(integer: 1)
        }
        try builder.end()
        let list = try builder.finish()
        let error = #expect(throws: PropertyListError.self) { try list.any() }
        #expect(error?.message == "Two keys differ only in their Unicode normalisation")
    }

    @Test("a nested Any deeper than the limit is an error")
    func limitsDepth() throws {
        var value: Any = 1
        for _ in 0..<10_000 { value = [value] }
        let error = #expect(throws: PropertyListError.self) { try PropertyList(any: value) }
        #expect(error?.code == .limitExceeded)
        let limits = PropertyListLimits(depth: 1)
        let dictionary = #expect(throws: PropertyListError.self) {
            try PropertyList(any: ["a": ["b": 1]], limits: limits)
        }
        #expect(dictionary?.description == "Deeper than 1 levels at a")
    }

    @Test("an Optional in an Any is its value, null, or an error for what is in it")
    func unwraps() throws {
        let list = try PropertyList(any: [Int?.none as Any, Int?.some(5) as Any, Int??.some(nil) as Any])
        #expect(list == [.null, 5, .null])
        let error = #expect(throws: PropertyListError.self) {
            try PropertyList(any: ["a": Character?.some("x") as Any])
        }
        #expect(error?.description == "Expected a property-list value at a, found Character")
    }

    @Test("a document keeps no text of the numbers and dates that were read")
    func keepsNoText() throws {
        let text = "<array><integer>12</integer><real>0.5</real><date>2001-01-01T00:00:00Z</date></array>"
        #expect(try PropertyList(parsing: Array(text.utf8)).document.byteCount == 0)
    }

    @Test("depth is that of the deepest container, in a document and in a part of one")
    func depth() throws {
        let rows: [(Any, Int)] = [(5, 0), ([Int](), 1), ([[1], [2]], 2), ([[[3]], [[Int](), [Int]()]], 3)]
        for (value, depth) in rows {
            #expect(try PropertyList(any: [value, "x"]).depth == depth + 1)
            #expect(try PropertyList(any: [value, "x"])[0]?.depth == depth)
            let list = try PropertyList(any: value)
            #expect(list.depth == depth)
            let document = list.document
            let copy = try PropertyList(
                validating: UnsafeBufferPointer(start: document.nodes, count: document.nodeCount),
                bytes: UnsafeRawBufferPointer(start: document.bytes, count: document.byteCount))
            #expect(copy.depth == depth)
            #expect(copy[0].map(\.depth) == list[0].map(\.depth))
        }
    }

    @Test("a part is detached where it is less than half of its document")
    func detaches() throws {
        let list = try PropertyList(any: ["a": String(repeating: "x", count: 100), "b": "y"])
        let large = try #require(list["a"])
        #expect(large.detached().document === list.document)
        let small = try #require(list["b"])
        #expect(small.detached() == small)
        #expect(small.detached().document.byteCount == 1)
    }

    @Test("nulls are dropped, at any depth and of a document that was checked")
    func dropsNulls() throws {
        let node = TreeValidationTests.node
        let checked = try TreeValidationTests.copy([node(9, 2, 3), node(0, 0, 0), node(2, 0, 1)])
        #expect(try checked.droppingNulls() == [1])
        #expect(try checked[0]?.droppingNulls() == .null)
        let limits = PropertyListLimits(depth: PropertyListLimits.maximumDepth)
        func nested(_ list: PropertyList) throws -> PropertyList {
            var builder = PropertyListBuilder(limits: limits)
            for _ in 0..<PropertyListLimits.maximumDepth - 1 { try builder.beginArray() }
            try builder.append(list)
            for _ in 0..<PropertyListLimits.maximumDepth - 1 { try builder.end() }
            return try builder.finish()
        }
        #expect(try nested([.null]).droppingNulls() == nested([]))
    }

    @Test("the text of an error that a program gives stays one piece, before the path")
    func takesWords() {
        var error = PropertyListError(.invalidValue, "x", at: ["a"])
        error.message = "Expected Integer, found String"
        #expect(error.description == "Expected Integer, found String at a")
    }

    @Test("a part of a document is compacted into one of its own")
    func compactsParts() throws {
        let list = try PropertyList(any: ["a": [1, "x"] as [Any], "b": String(repeating: "y", count: 100)])
        let part = try #require(list["a"]).compacted()
        #expect(part == list["a"])
        #expect(part.document.nodeCount == 3)
        #expect(part.document.byteCount == 1)
    }

    @Test("elements of an array of containers are found by index")
    func indexesContainers() throws {
        let list = try PropertyList(any: (0..<50).map { ["value": $0, "list": Array(0..<$0)] as [String: Any] })
        for index in 0..<50 { #expect(list[index]?["value"]?.integer == Int64(index)) }
        #expect(list.elements.map(\.count) == Array(repeating: 2, count: 50))
    }

    @Test("paths show keys and indexes")
    func describesPaths() {
        let path: PropertyListPath = ["window", "tags", 2]
        #expect(path.description == "window.tags[2]")
        #expect(path.description(root: "SELF", firstIndex: 1) == "SELF.window.tags[3]")
        #expect(PropertyListPath([.index(.max)]).description(root: "", firstIndex: 1).hasPrefix("["))
    }
}
