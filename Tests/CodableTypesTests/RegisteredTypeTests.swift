import CodableTypes
import FoundationEssentials
import PropertyLists
import Testing

/// Written by hand: older programs stored the number alone.
private struct Temperature: Codable {
    var celsius: Double

    private enum CodingKeys: String, CodingKey { case celsius }

    init(celsius: Double) { self.celsius = celsius }

    init(from decoder: any Decoder) throws {
        if let number = try? decoder.singleValueContainer().decode(Double.self) {
            celsius = number
        } else {
            celsius = try decoder.container(keyedBy: CodingKeys.self).decode(Double.self, forKey: .celsius)
        }
        guard celsius >= -273.15 else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "Colder than possible"))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(celsius, forKey: .celsius)
    }
}

private enum Route: Codable {
    case by(road: String, km: Int)
    case none
}

@Suite("Registered Swift types, by name") struct RegisteredTypeTests {
    private func registry(example: Temperature? = Temperature(celsius: 20)) throws -> TypeRegistry {
        let registry = TypeRegistry()
        try registry.register(Temperature.self, as: "Temperature", example: example, names: ["celsius": "degrees"])
        try registry.register(Route.self, as: "Route")
        try registry.declare(
            "struct Room { name: String; now: Temperature; log: [Temperature] = []; limit: Temperature? }")
        return registry
    }

    @Test("are read and changed by name, their own code running as it is written")
    func byName() throws {
        let type = try registry().type("Temperature")
        let stored = try tree(21.5)
        let value = try type.decode(stored)
        #expect(value == (try tree(["degrees": 21.5])))
        let changed = try type.encode(try tree(["degrees": 25]), over: stored).list
        #expect(changed == (try tree(["celsius": 25.0])))
        let kept = try type.encode(
            try tree(["degrees": 30.0]), over: try tree(["celsius": 1.0, "sensor": "a"] as [String: Any]))
        #expect(kept.list == (try tree(["celsius": 30.0, "sensor": "a"] as [String: Any])))
    }

    private struct Accent: Codable {
        var value: Int
        enum CodingKeys: String, CodingKey { case value = "caf\u{E9}" }
    }

    @Test("keep a key that prints as one of theirs, and is none")
    func keepsLookAlikes() throws {
        func list(_ entries: [(String, Int64)]) throws -> PropertyList {
            var builder = PropertyListBuilder()
            try builder.beginDictionary()
            for (key, number) in entries {
                try builder.key(key)
                try builder.append(integer: number)
            }
            try builder.end()
            return try builder.finish()
        }
        let registry = TypeRegistry()
        let type = try registry.register(Accent.self, as: "Accent")
        let stored = try list([("cafe\u{301}", 2), ("caf\u{E9}", 1)])
        let new = try list([("caf\u{E9}", 5)])
        #expect(try type.encode(new, over: stored).list == (try list([("cafe\u{301}", 2), ("caf\u{E9}", 5)])))
        #expect(throws: TypeError.self) { try type.encode(stored) }
    }

    @Test("stand in expressions and in declared structs", arguments: ["Room", "[Room]?", "[String: Room]"])
    func inside(_ expression: String) throws {
        let type = try registry().type(expression)
        func wrapped(_ room: [String: Any]) throws -> PropertyList {
            switch expression {
            case "Room": try tree(room)
            case "[Room]?": try tree([room])
            default: try tree(["key": room])
            }
        }
        let stored = try wrapped(
            ["name": "hall", "now": 20.0, "log": [1.0, 2.0], "limit": ["celsius": 5.0, "by": "x"] as [String: Any]])
        let value = try type.decode(stored)
        let shown: [String: Any] = [
            "name": "hall", "now": ["degrees": 20.0], "log": [["degrees": 1.0], ["degrees": 2.0]],
            "limit": ["degrees": 5.0],
        ]
        #expect(value == (try wrapped(shown)))
        let back = try type.encode(value, over: stored).list
        #expect(
            back
                == (try wrapped([
                    "name": "hall", "now": ["celsius": 20.0], "log": [["celsius": 1.0], ["celsius": 2.0]],
                    "limit": ["celsius": 5.0, "by": "x"] as [String: Any],
                ])))
    }

    @Test("their errors have their place, both ways")
    func errors() throws {
        let type = try registry().type("Room")
        var error = try typeError {
            _ = try type.decode(try tree(["name": "a", "now": -300.0] as [String: Any]), at: ["rooms", 2])
        }
        #expect(error.description == "Colder than possible at rooms[2].now")
        #expect(error.path == ["rooms", 2, "now"])
        error = try typeError {
            _ = try type.encode(try tree(["name": "a", "now": ["degres": 1.0]] as [String: Any]))
        }
        #expect(error.code == .unknownField || error.code == .missingField)
        #expect(error.path == ["now"])
    }

    @Test("an example describes a type; without one it is opaque, and takes values even so")
    func examples() throws {
        let described = try registry()
        #expect(
            try described.type("Temperature").declaration
                == "struct Temperature {\n    degrees: Double @key(celsius)\n}")
        #expect(described.annotations.contains("---@class (exact) Temperature\n---@field degrees number\n"))
        let opaque = try registry(example: nil)
        #expect(try opaque.type("Temperature").declaration == nil)
        #expect(opaque.annotations.contains("---@alias Temperature table\n"))
        #expect(try opaque.type("Temperature").decode(try tree(3)) == tree(["degrees": 3.0]))
    }

    @Test("enums with associated values keep what their values do not know")
    func enums() throws {
        let type = try registry().type("Route")
        let stored = try tree(["by": ["road": "A1", "km": 5, "toll": true] as [String: Any]])
        let value = try type.decode(stored)
        #expect(value == (try tree(["by": ["road": "A1", "km": 5] as [String: Any]])))
        let changed = try tree(["by": ["road": "A2", "km": 6] as [String: Any]])
        let expected = try tree(["by": ["road": "A2", "km": 6, "toll": true] as [String: Any]])
        #expect(try type.encode(changed, over: stored).list == expected)
        let error = try typeError { _ = try type.decode(try tree([String: Int]())) }
        #expect(error.description == "Invalid number of keys found, expected one")
    }

    @Test("a registry over another sees its types, and hides none of them from it")
    func over() throws {
        let outer = try registry()
        let inner = TypeRegistry(over: outer)
        try inner.declare("struct House { rooms: [Room] = [] }; enum Route: Int { a, b }")
        #expect(try inner.type("Route").decode(try tree(1)).integer == 1)
        #expect(throws: TypeError.self) { try outer.type("Route").decode(try tree(1)) }
        #expect(throws: TypeError.self) { try outer.type("House") }
        #expect(inner.annotations.contains("---@class (exact) Room\n"))
    }

    @Test("the default registry is one for the whole program")
    func standard() throws {
        let name = "Standard\(UInt64.random(in: 0...UInt64.max))"
        try TypeRegistry.default.declare("enum \(name): Int { one = 1 }")
        #expect(try TypeRegistry.default.type(name).decode(try tree(1)).integer == 1)
        let error = try typeError { try TypeRegistry.default.declare("enum \(name): Int { one = 2 }") }
        #expect(error.code == .redeclared)
        #expect(throws: TypeError.self) { try TypeRegistry().type(name) }
    }
}
