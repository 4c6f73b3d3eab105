import PropertyLists
import Testing

@testable import CodableTypes

@Suite("Faults that were") struct FaultTests {
    private func nested(_ levels: Int) throws -> PropertyList {
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        for _ in 0..<levels { try builder.beginArray() }
        for _ in 0..<levels { try builder.end() }
        return try builder.finish()
    }

    @Test(
        "the depth of a value is counted inside Any, too",
        arguments: ["Any", "Any?", "[Any]", "[String: Any]", "Holder"])
    func depth(_ expression: String) throws {
        let registry = TypeRegistry()
        try registry.declare("struct Holder { key: Any }; struct Renamed { key: Any @key(other) = 1 }")
        let type = try registry.type(expression)
        let around = expression.hasPrefix("Any") ? 0 : 1
        func value(_ levels: Int) throws -> PropertyList {
            let inner = try nested(levels - around)
            if around == 0 { return inner }
            if expression == "[Any]" { return try nested(levels) }
            return try PropertyList.emptyDictionary.setting(
                inner, at: ["key"], limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        }
        let deepest = try value(512)
        #expect(try type.decode(deepest) == deepest)
        #expect(try type.encode(deepest).list == deepest)
        let tooDeep = try value(513)
        var error = try typeError { _ = try type.decode(tooDeep) }
        #expect(error.description == "Values are nested deeper than 512 levels")
        error = try typeError { _ = try type.encode(tooDeep) }
        #expect(error.description == "Values are nested deeper than 512 levels")
        // Where something else has to be written as well.
        let renamed = try registry.type("Renamed")
        let stored = try PropertyList.emptyDictionary.setting(
            try nested(512), at: ["other"], limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        #expect(throws: TypeError.self) { try renamed.decode(stored) }
    }

    @Test("the name of a missing field is a name, whatever it looks like")
    func oddNames() throws {
        let types = try TypeRegistry().declare("struct S { \"[abc]\": Int } struct T { s: S; \"[7]\": Int }")
        var error = try typeError { _ = try types[0].decode(try tree([String: Int]())) }
        #expect(error.description == "Dictionary does not contain key [abc]")
        error = try typeError { _ = try types[1].decode(try tree(["s": [String: Int]()])) }
        #expect(error.message(firstIndex: 1, root: "x") == "Dictionary does not contain key x.s.[abc]")
        error = try typeError { _ = try types[1].decode(try tree(["s": ["[abc]": 1]])) }
        #expect(error.message(firstIndex: 1, root: "x") == "Dictionary does not contain key x.[7]")
    }

    @Test("null is no value of Any, in either direction", arguments: ["Any", "[Any]", "[String: Any]", "Holder"])
    func null(_ expression: String) throws {
        let registry = TypeRegistry()
        try registry.declare("struct Holder { key: Any }")
        let type = try registry.type(expression)
        var builder = PropertyListBuilder()
        if expression == "[Any]" {
            try builder.beginArray()
        } else if expression != "Any" {
            try builder.beginDictionary()
            try builder.key("key")
        }
        try builder.appendNull()
        if expression != "Any" { try builder.end() }
        let value = try builder.finish()
        var error = try typeError { _ = try type.decode(value) }
        #expect(error.code == .mismatch && error.subject == "Expected Any" && error.finding == ", found nil")
        error = try typeError { _ = try type.encode(value) }
        #expect(error.code == .mismatch && error.subject == "Expected Any" && error.finding == ", found nil")
    }

    @Test("either part of an error's text may be replaced, and the other stays")
    func parts() throws {
        let type = try TypeRegistry().type("Int")
        var error = try typeError { _ = try type.decode(PropertyList(any: ["x"]), at: ["n"]) }
        error.finding = ""
        #expect(error.description == "Expected BinaryInteger at n")
        error = try typeError { _ = try type.decode(PropertyList(any: ["x"]), at: ["n"]) }
        error.subject = "Expected a number"
        #expect(error.description == "Expected a number at n, found Array<Any>")
    }

    @Test("a default may name what is declared further down")
    func order() throws {
        let registry = TypeRegistry()
        let types = try registry.declare(
            """
            struct Window { look: Look = ["theme": dark]; other: Look = [:]; all: [Theme] = [light, dark] }
            struct Look { theme: Theme = light; size: Size = ["width": 2] }
            struct Size { width: Double = 1; height: Double = 3 }
            enum Theme: String { light = "L", dark = "D" }
            """)
        let value = try types[0].decode(try tree([String: Any]()))
        #expect(value["look"]?["theme"]?.string == "D")
        #expect(value["look"]?["size"]?["width"]?.real == 2)
        #expect(value["other"]?["theme"]?.string == "L")
        #expect(value["other"]?["size"]?["height"]?.real == 3)
        #expect(value["all"] == (try tree(["L", "D"])))
        // Printed and read again, it means the same.
        let text = types.compactMap(\.declaration).joined(separator: "\n")
        #expect(try TypeRegistry().declare(text) == types)
        let error = try typeError {
            try TypeRegistry().declare("struct A { b: B = [\"c\": drak] }\nstruct B { c: C }\nenum C: String { dark }")
        }
        #expect(error.description == "Expected a value of C, found \"drak\" (line 1, column 25)")
    }

    @Test("a default of a struct declared later is checked")
    func checked() throws {
        let error = try typeError {
            try TypeRegistry().declare("struct A { b: B = [\"c\": 1] }\nstruct B { c: String }")
        }
        #expect(error.description == "Expected String at c, found Int (line 1, column 19)")
    }

    @Test("an empty table of Lua is no array where an array must have elements")
    func emptyTable() throws {
        let type = try TypeRegistry().type("[Int](1...)")
        let error = try typeError { _ = try type.encode(.emptyDictionary) }
        #expect(error.description == "Expected 1... elements, found 0")
    }

    @Test("an element that is removed and knew all of itself is not counted as dropped")
    func dropped() throws {
        let registry = TypeRegistry()
        try registry.declare("struct A { id: Int @key(i); d: Int = 5 }")
        let type = try registry.type("[A]")
        let stored = try tree([["i": 1], ["i": 2, "x": 1], ["i": 3]])
        let encoded = try type.encode(try tree([["id": 1]]), over: stored)
        #expect(encoded.list == (try tree([["i": 1]])))
        #expect(encoded.droppedElements == 1)
    }
}
