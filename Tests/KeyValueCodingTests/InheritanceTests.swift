import KeyValueCoding
import Testing

private class Animal: Codable {
    var name = "rex"
    var legs = 4

    init() {}
}

private final class Dog: Animal {
    var breed = "collie"

    private enum CodingKeys: String, CodingKey { case breed }

    override init() { super.init() }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        breed = try container.decode(String.self, forKey: .breed)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(breed, forKey: .breed)
        try super.encode(to: container.superEncoder())
    }
}

/// Writes its superclass's part under a key of its own, and its elements' by an array.
private struct Joined: Codable, Equatable {
    var first = 1
    var second = 2

    enum CodingKeys: CodingKey { case first, parentPart, list }

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        first = try Int(from: container.superDecoder(forKey: .parentPart))
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        second = try Int(from: list.superDecoder())
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try first.encode(to: container.superEncoder(forKey: .parentPart))
        var list = container.nestedUnkeyedContainer(forKey: .list)
        try second.encode(to: list.superEncoder())
    }
}

@Suite struct InheritanceTests {
    @Test("a superclass's part is written and read under super")
    func roundTripsSuperclass() throws {
        let dog = Dog()
        dog.legs = 3
        let result = try KeyValueEncoder().encode(dog)
        #expect(
            isSame(result, ["breed": "collie", "super": ["name": "rex", "legs": 3] as [String: Any]] as [String: Any]))
        let again = try KeyValueDecoder().decode(Dog.self, from: result as Any)
        #expect(again.legs == 3 && again.name == "rex" && again.breed == "collie")
    }

    @Test("a superclass's part is read from the flat form, too")
    func readsFlatForm() throws {
        let flat: [String: Any] = ["breed": "pug", "name": "bo", "legs": 4]
        let dog = try KeyValueDecoder().decode(Dog.self, from: flat)
        #expect(dog.name == "bo" && dog.breed == "pug")
    }

    @Test("an error in a superclass's part has super in its path")
    func reportsPath() {
        let value: [String: Any] = ["breed": "pug", "super": ["name": 1, "legs": 4] as [String: Any]]
        let text = failure { try KeyValueDecoder().decode(Dog.self, from: value) }
        #expect(text == "typeMismatch SELF.super.name: Expected String at SELF.super.name, found Int")
    }

    @Test("super encoders under a key and in an array round-trip, under the key strategy")
    func roundTripsSuperEncoders() throws {
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let result = try encoder.encode(Joined())
        #expect(isSame(result, ["parent_part": 1, "list": [2] as [Any]] as [String: Any]))
        var decoder = KeyValueDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(try decoder.decode(Joined.self, from: result as Any) == Joined())
    }
}
