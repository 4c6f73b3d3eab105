/// A type of the program's own, with a form of its own in the file: the name is stored in two parts.
struct User: Codable, Equatable {
    var name: String
    var age: Int

    private enum CodingKeys: String, CodingKey { case first, last, age }

    init(name: String, age: Int) {
        self.name = name
        self.age = age
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let first = try container.decode(String.self, forKey: .first)
        let last = try container.decode(String.self, forKey: .last)
        name = "\(first) \(last)"
        age = try container.decodeIfPresent(Int.self, forKey: .age) ?? 0
        guard age >= 0 else {
            throw DecodingError.dataCorruptedError(
                forKey: .age, in: container, debugDescription: "Expected an age from 0")
        }
    }

    func encode(to encoder: any Encoder) throws {
        let parts = name.split(separator: " ", maxSplits: 1)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(String(parts.first ?? ""), forKey: .first)
        try container.encode(String(parts.dropFirst().first ?? ""), forKey: .last)
        try container.encode(age, forKey: .age)
    }
}
