import Foundation
import PropertyLists
import Testing

@Suite struct LiteralTests {
    @Test("literals are trees of every kind")
    func literals() throws {
        let list: PropertyList = [
            "width": 640, "tags": ["a", true, 1.5], "none": [:], "big": PropertyList(UInt64.max),
        ]
        let expected: [String: Any] = [
            "width": 640, "tags": ["a", true, 1.5] as [Any], "none": [String: Any](), "big": UInt64.max,
        ]
        #expect(try list == PropertyList(any: expected))
        let width = 3
        let text: PropertyList = "width \(width)"
        #expect(text == "width 3")
        #expect((["a": 1, "a": 2] as PropertyList) == ["a": 2])
    }

    @Test("every kind is made of its Swift type, and gives it back, and no other kind does")
    func conversions() throws {
        let date = Date(timeIntervalSinceReferenceDate: 1.5)
        let values: [(PropertyList, PropertyListKind)] = [
            (PropertyList(true), .boolean), (PropertyList(5), .integer), (PropertyList(UInt64.max), .unsigned),
            (PropertyList(UInt64(5)), .integer), (PropertyList(1.5), .real), (PropertyList("x"), .string),
            (PropertyList(Data([1, 2])), .data), (PropertyList(date), .date), (PropertyList(PropertyListUID(7)), .uid),
            (PropertyList([1, "a"]), .array), (PropertyList(["a": 1]), .dictionary), (.null, .null),
        ]
        for (list, kind) in values {
            #expect(list.kind == kind)
            #expect((Bool(list) != nil) == (kind == .boolean))
            #expect((UInt64(list) != nil) == (kind == .integer || kind == .unsigned))
            #expect((Double(list) != nil) == (kind == .integer || kind == .unsigned || kind == .real))
            #expect((String(list) != nil) == (kind == .string))
            #expect((Data(list) != nil) == (kind == .data))
            #expect((Date(list) != nil) == (kind == .date))
            #expect((PropertyListUID(list) != nil) == (kind == .uid))
            #expect(([PropertyList](list) != nil) == (kind == .array))
            #expect(([String: PropertyList](list) != nil) == (kind == .dictionary))
        }
        #expect(Int(PropertyList(5)) == 5 && Int8(PropertyList(300)) == nil && UInt8(PropertyList(-1)) == nil)
        #expect(Int(PropertyList(UInt64.max)) == nil && Int128(PropertyList(UInt64.max)) == Int128(UInt64.max))
        #expect(Int(PropertyList(5.0)) == nil && Date(PropertyList(date)) == date)
        let narrow: [PropertyList] = [
            PropertyList(UInt(200)), PropertyList(UInt8(200)), PropertyList(Int16(200)), PropertyList(UInt16(200)),
            PropertyList(Int32(200)), PropertyList(UInt32(200)), PropertyList(Int64(200)),
        ]
        #expect(narrow.allSatisfy { $0 == 200 } && PropertyList(Int8(-5)) == -5)
        #expect(PropertyList(UInt.max) == PropertyList(UInt64.max) && PropertyList(UInt32.max) == 4_294_967_295)
        #expect(PropertyList(Float(1.5)) == 1.5 && Float(PropertyList(1.5)) == 1.5 && Float(PropertyList("x")) == nil)
        #expect(Data(PropertyList(Data([1, 2]))) == Data([1, 2]) && String(PropertyList("x")) == "x")
        #expect([PropertyList]([1, "a"] as PropertyList) == [1, "a"])
    }

    @Test("literals leave Swift's own conversions as they are")
    func leavesLiteralsAlone() {
        #expect(Int("5") == 5 && Double("1.5") == 1.5 && String(5) == "5" && Int(5.5) == 5 && Bool("true") == true)
        #expect(Data([1, 2]).count == 2 && Array([1, 2]).count == 2 && Data("ab".utf8).count == 2)
        let list: PropertyList? = nil
        #expect(list == nil)
    }

    @Test("a tree that is built too deep is null, which no file takes")
    func ends() {
        var list: PropertyList = []
        for _ in 0..<600 { list = [list] }
        #expect(list.depth < 520)
        #expect(throws: PropertyListError.self) { try PropertyList([.null]).serialized(as: .xml) }
    }
}
