import CKVCodable
import PropertyLists
import TestSupport
import Testing

@Suite struct TreeSettingTests {
    static func sample() throws -> PropertyList {
        try TreeModel.dictionary([
            "window": .dictionary(["width": .integer(640), "tags": .array([.string("a"), .string("b")])]),
            "name": .string("main"),
        ]).list
    }

    @Test("setting changes one place and nothing else")
    func setsOneValue() throws {
        let list = try Self.sample().setting(TreeModel.integer(800).list, at: ["window", "width"])
        #expect(list.value(at: ["window", "width"])?.integer == 800)
        #expect(list.value(at: ["window", "tags", 1])?.string == "b")
        #expect(list["name"]?.string == "main")
    }

    @Test("setting makes missing dictionaries, and an index equal to the count appends")
    func makesParents() throws {
        var list = try Self.sample().setting(TreeModel.integer(1).list, at: ["new", "deep", "key"])
        #expect(list.value(at: ["new", "deep", "key"])?.integer == 1)
        list = try list.setting(TreeModel.string("c").list, at: ["window", "tags", 2])
        #expect(list.value(at: ["window", "tags"])?.count == 3)
        #expect(list.value(at: ["window", "tags", 2])?.string == "c")
    }

    private static let noIndex = ErrorWords.expected(
        "an element of the array or the place behind the last", found: "none")

    @Test(
        "setting through what is no container is an error with the place",
        arguments: [
            (["name", "x"], .expected("Dictionary", found: "String"), ["name"]),
            (["window", 0], .expected("Array", found: "Dictionary"), ["window"]),
            (["window", "tags", 3], noIndex, ["window", "tags", 3]),
            (["window", "tags", -1], noIndex, ["window", "tags", -1]),
            (["none", 0], .expected("Array", found: "nothing: a missing array is not made by its index"), ["none"]),
        ] as [(PropertyListPath, ErrorWords, PropertyListPath)])
    func rejectsMismatch(path: PropertyListPath, message: ErrorWords, fault: PropertyListPath) throws {
        let list = try Self.sample()
        let value = try TreeModel.integer(1).list
        let error = #expect(throws: PropertyListError.self) { try list.setting(value, at: path) }
        #expect(error == PropertyListError(.pathMismatch, message, at: fault))
    }

    @Test("removing gives nil where nothing is")
    func removesNothing() throws {
        let list = try Self.sample()
        for path in [["x"], ["window", "x"], ["name", "x"], ["window", "tags", 2], []] as [PropertyListPath] {
            #expect(try list.removing(at: path) == nil)
        }
    }

    @Test("the depth of a set is counted from the root")
    func limitsDepth() throws {
        let list = try TreeModel.dictionary([:]).list
        let value = try TreeModel.array([]).list
        let limits = PropertyListLimits(depth: 2)
        #expect(try list.setting(value, at: ["a"], limits: limits).depth == 2)
        let error = #expect(throws: PropertyListError.self) { try list.setting(value, at: ["a", "b"], limits: limits) }
        #expect(error == PropertyListError(.limitExceeded, "Deeper than 2 levels", at: ["a", "b"]))
    }

    @Test("repeated replacing does not let the document grow")
    func compactsUnusedBytes() throws {
        var list = try Self.sample()
        let value = try TreeModel.string(String(repeating: "x", count: 1000)).list
        for _ in 0..<100 { list = try list.setting(value, at: ["name"]) }
        #expect(list.document.byteCount < 4000)
        #expect(list["name"]?.count == 1000)
    }

    @Test("random sets and removes agree with a model and keep the layout valid", arguments: 1...40)
    func agreesWithModel(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var model = TreeModel.dictionary([:])
        var list = try model.list
        for _ in 0..<150 {
            let path = randomPath(&generator)
            if Int.random(in: 0..<4, using: &generator) == 0 {
                let expected = model.removing(path.steps[...])
                let removed = try list.removing(at: path)
                #expect((removed == nil) == (expected == nil))
                if let removed, let expected { (list, model) = (removed, expected) }
            } else {
                let value = randomValue(&generator, depth: 2)
                let expected = model.setting(value, at: path.steps[...])
                let changed = try? list.setting(value.list, at: path)
                #expect((changed == nil) == (expected == nil))
                if let changed, let expected { (list, model) = (changed, expected) }
            }
            try #require(try list == model.list)
            let document = list.document
            let copy = try PropertyList(
                validating: UnsafeBufferPointer(start: document.nodes, count: document.nodeCount),
                bytes: UnsafeRawBufferPointer(start: document.bytes, count: document.byteCount))
            try #require(copy == list)
        }
    }

    private func randomPath(_ generator: inout SeededGenerator) -> PropertyListPath {
        let length = Int.random(in: 1...3, using: &generator)
        return PropertyListPath(
            (0..<length).map { _ in
                Bool.random(using: &generator)
                    ? .key(["", "a", "b", "ab", "long key"].randomElement(using: &generator) ?? "")
                    : .index(Int.random(in: 0...2, using: &generator))
            })
    }

    private func randomValue(_ generator: inout SeededGenerator, depth: Int) -> TreeModel {
        switch Int.random(in: 0..<(depth == 0 ? 2 : 4), using: &generator) {
        case 0: return .integer(.random(in: -9...9, using: &generator))
        case 1: return .string(["", "x", "text"].randomElement(using: &generator) ?? "")
        case 2: return .array((0..<2).map { _ in randomValue(&generator, depth: depth - 1) })
        default:
            var entries: [String: TreeModel] = [:]
            for key in ["b", "a", ""] where Bool.random(using: &generator) {
                entries[key] = randomValue(&generator, depth: depth - 1)
            }
            return .dictionary(entries)
        }
    }
}
