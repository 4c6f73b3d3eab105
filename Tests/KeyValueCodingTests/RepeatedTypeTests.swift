import Dispatch
import KeyValueCoding
import PropertyLists
import Synchronization
import Testing

/// A tag that makes a type of keys another.
private struct Next<Tag> {}

/// A value with a type of keys of its own at each level.
private struct Level<Tag>: Codable, Equatable {
    enum CodingKeys: String, CodingKey { case number, inner }

    var number: Int

    init(_ number: Int) { self.number = number }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        number = try container.decode(Int.self, forKey: .number)
        if number > 0, try container.decode(Level<Next<Tag>>.self, forKey: .inner).number != number - 1 {
            throw DecodingError.dataCorruptedError(forKey: .inner, in: container, debugDescription: "another level")
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(number, forKey: .number)
        if number > 0 { try container.encode(Level<Next<Tag>>(number - 1), forKey: .inner) }
    }

    static func any(_ number: Int) -> [String: Any] {
        number > 0 ? ["number": number, "inner": any(number - 1)] : ["number": number]
    }
}

/// Keeps the decoders of all elements.
private struct Kept: Decodable {
    let decoder: any Decoder
    init(from decoder: any Decoder) throws { self.decoder = decoder }
}

/// Keeps the encoders of all elements.
private struct Keeping: Encodable {
    final class Encoders { var all: [any Encoder] = [] }
    let encoders: Encoders
    func encode(to encoder: any Encoder) { encoders.all.append(encoder) }
}

/// Counts how often it is decoded, and fails.
private struct Failing: Decodable {
    final class Count: @unchecked Sendable { var value = 0 }
    static let key = CodingUserInfoKey(rawValue: "count")!

    init(from decoder: any Decoder) throws {
        (decoder.userInfo[Self.key] as? Count)?.value += 1
        _ = try decoder.singleValueContainer().decode(Bool.self)
    }
}

private enum Kind: String, Codable { case one, two }

/// Keys that are a class, and asked for by the type of one above it.
private class BaseKey: CodingKey, @unchecked Sendable {
    let stringValue: String
    var intValue: Int? { nil }
    required init?(stringValue: String) { self.stringValue = stringValue }
    required init?(intValue: Int) { return nil }
}

private final class DerivedKey: BaseKey, @unchecked Sendable {}

private struct KeyedByClasses: Codable, Equatable {
    var first: Int
    var second: Int

    init(first: Int, second: Int) { (self.first, self.second) = (first, second) }

    init(from decoder: any Decoder) throws {
        let keys: BaseKey.Type = DerivedKey.self
        let base = try decoder.container(keyedBy: keys)
        let derived = try decoder.container(keyedBy: DerivedKey.self)
        first = try base.decode(Int.self, forKey: #require(BaseKey(stringValue: "first")))
        second = try derived.decode(Int.self, forKey: #require(DerivedKey(stringValue: "second")))
        #expect(derived.allKeys.allSatisfy { type(of: $0) == DerivedKey.self } && derived.allKeys.count == 2)
    }

    func encode(to encoder: any Encoder) throws {
        let keys: BaseKey.Type = DerivedKey.self
        var base = encoder.container(keyedBy: keys)
        var derived = encoder.container(keyedBy: DerivedKey.self)
        try base.encode(first, forKey: #require(BaseKey(stringValue: "first")))
        try derived.encode(second, forKey: #require(DerivedKey(stringValue: "second")))
    }
}

/// Decodes its elements on several threads at once, by decoders of their own.
private struct Parallel: Decodable {
    var numbers: [Int]

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        let first = try container.decode(Level<Int>.self).number
        var decoders: [any Decoder] = []
        while !container.isAtEnd { decoders.append(try container.superDecoder()) }
        nonisolated(unsafe) let all = decoders
        nonisolated(unsafe) let numbers = UnsafeMutablePointer<Int>.allocate(capacity: all.count)
        defer { numbers.deallocate() }
        DispatchQueue.concurrentPerform(iterations: all.count) { index in
            numbers[index] = (try? Level<Int>(from: all[index]).number) ?? -1
        }
        self.numbers = [first] + all.indices.map { numbers[$0] }
    }
}

/// Types of keys that come again in one call.
@Suite struct RepeatedTypeTests {
    @Test("an array whose elements have many types of keys", arguments: [0, 1, 14, 15, 16, 40])
    func codesManyTypes(levels: Int) throws {
        let values = [Level<Int>](repeating: Level(levels), count: 3)
        let any = [Any](repeating: Level<Int>.any(levels), count: 3)
        let list = try PropertyList(any: any)
        #expect(try PropertyList(any: KeyValueEncoder().encode(values) as Any) == list)
        #expect(try KeyValueEncoder().encodeToPropertyList(values) == list)
        #expect(try KeyValueDecoder().decode([Level<Int>].self, from: any) == values)
        #expect(try KeyValueDecoder().decode([Level<Int>].self, from: list) == values)
    }

    @Test("keys that are classes, asked for by another type than their own")
    func codesClassKeys() throws {
        let values = (0..<4).map { KeyedByClasses(first: $0, second: -$0) }
        let any = (0..<4).map { ["first": $0, "second": -$0] as [String: Any] }
        let list = try PropertyList(any: any)
        #expect(try PropertyList(any: KeyValueEncoder().encode(values) as Any) == list)
        #expect(try KeyValueEncoder().encodeToPropertyList(values) == list)
        #expect(try KeyValueDecoder().decode([KeyedByClasses].self, from: any) == values)
        #expect(try KeyValueDecoder().decode([KeyedByClasses].self, from: list) == values)
    }

    @Test("elements that are decoded on several threads in one call")
    func decodesInParallel() throws {
        let any = (0..<200).map { Level<Int>.any($0 % 20) }
        var decoder = KeyValueDecoder()
        for strategy in [KeyValueDecoder.KeyDecodingStrategy.useDefaultKeys, .convertFromSnakeCase] {
            decoder.keyDecodingStrategy = strategy
            let list = try PropertyList(any: any)
            // Each call remembers anew, and two threads have to meet in it.
            for _ in 0..<30 {
                for value in [any as Any, list] {
                    let numbers = try decoder.decode(Parallel.self, from: value).numbers
                    #expect(numbers == (0..<200).map { $0 % 20 })
                }
            }
        }
    }

    @Test("decoders that are kept of an array are read on several threads")
    func readsOnThreads() async throws {
        let any = [Any](repeating: Level<Int>.any(20), count: 8)
        for kept in [
            try KeyValueDecoder().decode([Kept].self, from: any),
            try KeyValueDecoder().decode([Kept].self, from: PropertyList(any: any)),
        ] {
            let decoders = kept.map(\.decoder)
            let done = await onThreads(decoders) { try Level<Int>(from: $0).number == 20 }
            #expect(done == [Bool?](repeating: true, count: 8))
        }
    }

    @Test("encoders that are kept of an array are written to on several threads")
    func writesOnThreads() async throws {
        let encoders = Keeping.Encoders()
        _ = try KeyValueEncoder().encode([Keeping](repeating: Keeping(encoders: encoders), count: 8))
        let done = await onThreads(encoders.all) { encoder in
            try Level<Int>(20).encode(to: encoder)
            return true
        }
        #expect(done == [Bool?](repeating: true, count: 8))
    }

    /// What the body gives for each value, on a thread of its own; nil for an error.
    private func onThreads<Value>(
        _ values: [Value], _ body: @escaping @Sendable (Value) throws -> Bool
    ) async -> [Bool?] {
        nonisolated(unsafe) let values = values
        let next = Atomic(0)
        return await Threads.run(values.count) {
            try body(values[next.wrappingAdd(1, ordering: .relaxed).oldValue])
        }
    }

    @Test("a value that fails in dictionaries of dictionaries is decoded once")
    func failsOnce() throws {
        let any: [String: Any] = ["one": ["one": ["one": ["one": 1]]]]
        let list = try PropertyList(any: any)
        func attempts<T: Decodable>(_ type: T.Type) -> [Int] {
            [any as Any, list].map { value in
                var decoder = KeyValueDecoder()
                let count = Failing.Count()
                decoder.userInfo = [Failing.key: count]
                #expect(throws: DecodingError.self) { try decoder.decode(type, from: value) }
                return count.value
            }
        }
        #expect(attempts([String: [String: [String: [String: Failing]]]].self) == [1, 1])
        #expect(attempts([Kind: [Kind: [Kind: [Kind: Failing]]]].self) == [1, 1])
        #expect(attempts([Kind: [String: [Kind: [String: Failing]]]].self) == [1, 1])
    }
}
