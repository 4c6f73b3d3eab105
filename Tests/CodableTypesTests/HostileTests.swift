import CodableTypes
import PropertyLists
import Testing

@Suite struct HostileTests {
    @Test("noise made of the language's own words is an error or a type, and never more")
    func noise() throws {
        let words = [
            "struct", "enum", "A", "B", "{", "}", "[", "]", "(", ")", ":", ";", ",", "?", "=", "@", "key", "transient",
            "Int", "String", "Any", "1", "-", "...", "1e999", "0.5", "\"", "\\u{", "/*", "*/", "//", "\n", "date",
            "data",
            "uid", "nan", ".", "é", "\u{0}", "99999999999999999999999999",
        ]
        var state: UInt64 = 1
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var accepted = 0
        for _ in 0..<5000 {
            let text = (0..<random(24)).map { _ in words[random(words.count)] }.joined(
                separator: random(2) == 0 ? " " : "")
            let registry = TypeRegistry()
            do {
                try registry.declare(text)
                accepted += 1
            } catch {
                #expect(error.isAboutType, "\(text): \(error)")
            }
            do { accepted += try registry.type(text).description.isEmpty ? 0 : 1 } catch {
                #expect(error.isAboutType, "\(text): \(error)")
            }
        }
        #expect(accepted > 50)
    }

    private func nested(_ levels: Int) throws -> PropertyList {
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        for level in 0..<levels {
            try builder.beginDictionary()
            try builder.key("value")
            try builder.append(real: Double(level))
            try builder.key("children")
            try builder.beginArray()
        }
        for _ in 0..<levels {
            try builder.end()
            try builder.end()
        }
        return try builder.finish()
    }

    @Test("a recursive value is walked both ways down to the limit")
    func deep() throws {
        let type = try sampleRegistry().type("Node")
        let stored = try nested(256)
        let value = try type.decode(stored)
        #expect(value["value"]?.integer == 0)
        #expect(try type.encode(value, over: stored).list == value)
        #expect(try type.decode(value) == value)
    }

    @Test("beyond the limit there is an error instead of a stack overflow")
    func tooDeep() throws {
        let type = try sampleRegistry().type("Node")
        let deep = try nested(PropertyListLimits.maximumDepth / 2)
        var error = try typeError { _ = try type.decode(deep) }
        #expect(error.description == "Values are nested deeper than 512 levels")
        error = try typeError { _ = try type.encode(deep) }
        #expect(error.description == "Values are nested deeper than 512 levels")
        error = try typeError { _ = try type.encode(try nested(2), over: deep) }
        #expect(error.description == "Values are nested deeper than 512 levels")
    }
}
