import PropertyLists
import Testing

@Suite struct PropertyListBuilderTests {
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
    }
}
