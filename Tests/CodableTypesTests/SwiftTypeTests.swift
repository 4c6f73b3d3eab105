import CodableTypes
import PropertyLists
import Testing

private struct Address: Codable {
    var street: String
    var number: Int?
}

private struct User: Codable {
    var id: Int
    var fullName: String
    var addresses: [Address] = []
    var home: Address?

    enum CodingKeys: String, CodingKey {
        case id, home, addresses
        case fullName = "full name"
    }

    init(id: Int, fullName: String) {
        self.id = id
        self.fullName = fullName
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(Int.self, forKey: .id)
        fullName = try container.decode(String.self, forKey: .fullName)
        addresses = try container.decodeIfPresent([Address].self, forKey: .addresses) ?? []
        home = try container.decodeIfPresent(Address.self, forKey: .home)
        if id < 0 {
            throw DecodingError.dataCorruptedError(
                forKey: .id, in: container, debugDescription: "An id is not negative")
        }
    }
}

private struct Scaled: Codable {
    static let key = CodingUserInfoKey(rawValue: "scale")
    var value: Int

    init(from decoder: any Decoder) throws {
        guard let key = Self.key, let scale = decoder.userInfo[key] as? Int else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "No scale"))
        }
        value = try decoder.singleValueContainer().decode(Int.self) * scale
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

/// Tells faults in words of its own.
private struct Picky: Codable {
    var count: Int8

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        do {
            count = try container.decode(Int8.self, forKey: .count)
        } catch DecodingError.typeMismatch(let type, let context) {
            if (try? container.decode(Int.self, forKey: .count)) != nil {
                throw DecodingError.typeMismatch(type, context)
            }
            let isTrue = (try? container.decode(Bool.self, forKey: .count)) ?? false
            let text = isTrue ? "Expected nothing at SELF.count, found true" : "A count, please."
            throw DecodingError.dataCorrupted(
                .init(codingPath: context.codingPath, debugDescription: text, underlyingError: context.underlyingError))
        }
    }
}

/// Looks at all of its keys, and keeps those that are capital.
private struct Capitals: Codable {
    var names: Set<String> = []

    struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init() {}

    init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self).allKeys.map(\.stringValue)
        names = Set(keys.filter { $0 == $0.uppercased() })
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for name in names { try container.encode(true, forKey: Key(stringValue: name)) }
    }
}

@Suite struct SwiftTypeTests {
    private func registry() throws -> TypeRegistry {
        let registry = TypeRegistry()
        try registry.register(
            User.self, as: "User", example: User(id: 1, fullName: "x"), names: ["full name": "full_name"])
        return registry
    }

    private let stored: [String: Any] = [
        "id": 1.0, "full name": "Ada", "future": 5, "home": ["street": "S", "zip": "1"],
        "addresses": [["street": "A", "a": 1] as [String: Any], ["street": "B", "b": 2] as [String: Any]],
    ]

    @Test("a get gives what the type's own code encodes, under the names given")
    func decodes() throws {
        let value = try registry().type("User").decode(try tree(stored))
        let expected: [String: Any] = [
            "id": 1, "full_name": "Ada", "home": ["street": "S"], "addresses": [["street": "A"], ["street": "B"]],
        ]
        #expect(value == (try tree(expected)))
    }

    @Test("a set keeps what the decoding did not ask for, through structs and arrays")
    func keepsUnknown() throws {
        let value: [String: Any] = [
            "id": 2, "full_name": "Ada", "home": ["street": "T"],
            "addresses": [["street": "B"], ["street": "A", "number": 3] as [String: Any]],
        ]
        let encoded = try registry().type("User").encode(try tree(value), over: try tree(stored))
        let expected: [String: Any] = [
            "id": 2, "full name": "Ada", "future": 5, "home": ["street": "T", "zip": "1"],
            "addresses": [
                ["street": "B", "b": 2] as [String: Any], ["street": "A", "number": 3, "a": 1] as [String: Any],
            ],
        ]
        #expect(encoded.list == (try tree(expected)))
        #expect(encoded.droppedElements == 0)
    }

    // proves: G57
    @Test("a set says how many elements with unknown parts it could not keep")
    func countsDropped() throws {
        let value: [String: Any] = ["id": 2, "full_name": "Ada", "addresses": [["street": "B"]]]
        let encoded = try registry().type("User").encode(try tree(value), over: try tree(stored))
        #expect(encoded.list["addresses"] == (try tree([["street": "B", "b": 2] as [String: Any]])))
        #expect(encoded.droppedElements == 1)
        let registry = try registry()
        let holder = try registry.declare("struct Holder { users: [User]; number: Double }")[0]
        let whole = try tree(["users": [value], "number": 1] as [String: Any])
        let over = try tree(["users": [stored], "number": 0.5] as [String: Any])
        #expect(try holder.encode(whole, over: over).droppedElements == 1)
    }

    @Test("a key that an optional field had is removed when it is nil")
    func removesKnown() throws {
        let encoded = try registry().type("User").encode(
            try tree(["id": 2, "full_name": "Ada"] as [String: Any]), over: try tree(stored))
        #expect(encoded.list["home"] == nil)
        #expect(encoded.list["future"]?.integer == 5)
    }

    @Test("a field that the type does not know is an error with a suggestion")
    func unknownField() throws {
        let type = try registry().type("[User]")
        let value = try tree([["id": 2, "full_name": "Ada", "hone": 1] as [String: Any]])
        let error = try typeError { _ = try type.encode(value) }
        #expect(error.code == .unknownField)
        #expect(error.message(firstIndex: 1, root: "users") == "User at users[1] has no field hone; did you mean home?")
    }

    @Test("a type that looks at all keys knows those that it does not keep")
    func knowsAllKeys() throws {
        let registry = TypeRegistry()
        try registry.register(Capitals.self, as: "Capitals", example: Capitals())
        let value = try tree(["A": true, "b": true])
        let encoded = try registry.type("Capitals").encode(value, over: try tree(["C": true, "d": true]))
        #expect(encoded.list == (try tree(["A": true])))
    }

    @Test("errors of the type's code keep their words and get their place")
    func errors() throws {
        let type = try registry().type("[User]")
        var error = try typeError { _ = try type.decode(try tree([["id": 1, "full name": 5]])) }
        #expect(error.code == .mismatch)
        #expect(error.path == [0, "full name"])
        #expect(error.message(firstIndex: 0, root: "SELF") == "Expected String at SELF[0].full name, found Int")
        error = try typeError { _ = try type.decode(try tree([["id": -1, "full name": "x"] as [String: Any]])) }
        #expect(error.message(firstIndex: 0, root: "SELF") == "An id is not negative at SELF[0].id")
        error = try typeError { _ = try type.decode(try tree([["id": 1]])) }
        #expect(error.message(firstIndex: 0, root: "SELF") == "Dictionary does not contain key SELF[0].full name")
    }

    @Test("an error that the type's code made of the coder's, or in its likeness, is told as it is")
    func ownErrors() throws {
        let registry = TypeRegistry()
        try registry.register(Picky.self, as: "Picky")
        let type = try registry.type("[Picky]")
        for (value, message) in [
            ("x", "A count, please at v[0].count"), (true, "Expected nothing at SELF.count, found true at v[0].count"),
        ] as [(Any, String)] {
            let error = try typeError { _ = try type.decode(try tree([["count": value]]), at: ["v"]) }
            #expect(error.code == .mismatch && error.description == message)
        }
        let error = try typeError { _ = try type.decode(try tree([["count": 300]])) }
        #expect(error.code == .notRepresentable)
        #expect(error.description == "Int at [0].count, cannot be exactly represented by Int8")
    }

    @Test("user info given at registration reaches the type's code, and a missing one is an error")
    func userInfo() throws {
        let registry = TypeRegistry()
        let key = try #require(Scaled.key)
        try registry.register(Scaled.self, as: "Scaled", userInfo: [key: 10])
        try registry.register(Scaled.self, as: "Unscaled")
        #expect(try registry.type("Scaled").decode(try tree(5)).integer == 50)
        let error = try typeError { _ = try registry.type("[Unscaled]").decode(try tree([5])) }
        #expect(error.message(firstIndex: 0) == "No scale at [0]")
    }

    @Test("a name is taken once, and a name of the language never")
    func names() throws {
        let registry = try registry()
        let error = try typeError { try registry.register(Address.self, as: "User") }
        #expect(error.code == .redeclared)
        #expect(try typeError { try registry.register(Address.self, as: "Int") }.code == .description)
        try registry.declare("struct Team { lead: User; others: [User] = [] }")
        let team = try registry.type("Team").decode(try tree(["lead": ["id": 1.0, "full name": "A"] as [String: Any]]))
        #expect(team["lead"]?["full_name"]?.string == "A")
    }
}
