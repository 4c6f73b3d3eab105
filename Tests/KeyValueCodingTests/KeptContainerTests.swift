import Foundation
import KeyValueCoding
import PropertyLists
import Testing

/// Does what its test wants with its decoder and container, then reads itself.
private struct Curious: Decodable {
    enum Keys: String, CodingKey { case myNumber, next }
    final class Plan: @unchecked Sendable {
        var act: (any Decoder, KeyedDecodingContainer<Keys>) throws -> Void = { _, _ in }
    }

    static var key: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "plan") }

    var number: Int
    var next: [Int]

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        if let key = Self.key, let plan = decoder.userInfo[key] as? Plan { try plan.act(decoder, container) }
        number = try container.decode(Int.self, forKey: .myNumber)
        next = try container.decodeIfPresent(Curious.self, forKey: .next).map { [$0.number] + $0.next } ?? []
    }
}

/// Keeps its decoder.
private struct Kept: Decodable {
    let decoder: any Decoder
    init(from decoder: any Decoder) { self.decoder = decoder }
}

/// Arrays inside one another, of which the innermost keeps its encoder.
private struct Innermost: Encodable {
    final class Plan {
        var encoder: (any Encoder)?
    }

    let levels: Int
    let plan: Plan

    func encode(to encoder: any Encoder) throws {
        guard levels > 0 else {
            plan.encoder = encoder
            return
        }
        var container = encoder.unkeyedContainer()
        try container.encode(Innermost(levels: levels - 1, plan: plan))
    }
}

/// Acts as it ends.
private final class Farewell {
    nonisolated(unsafe) static var act: (() -> Void)?
    deinit { Self.act?() }
}

@Suite struct KeptContainerTests {
    private static func value(_ number: Int) -> [String: Any] {
        ["myNumber": number, "next": ["myNumber": -number] as [String: Any]]
    }

    private func decoder(_ act: @escaping (any Decoder, KeyedDecodingContainer<Curious.Keys>) throws -> Void) throws
        -> KeyValueDecoder
    {
        let plan = Curious.Plan()
        plan.act = act
        var decoder = KeyValueDecoder()
        decoder.userInfo[try #require(Curious.key)] = plan
        return decoder
    }

    // proves: G86
    @Test("a container kept from one call reads its own value, whatever is decoded after it")
    func leavesContainersOfCalls() throws {
        var kept: [KeyedDecodingContainer<Curious.Keys>] = []
        let decoder = try decoder { kept.append($1) }
        for number in 1...5 {
            let list = try PropertyList(any: Self.value(number))
            #expect(try decoder.decode(Curious.self, from: list).next == [-number])
            #expect(try decoder.decode(Curious.self, from: Self.value(number)).number == number)
        }
        let numbers = kept.map { try? $0.decode(Int.self, forKey: .myNumber) }
        #expect(numbers == (1...5).flatMap { [$0, -$0, $0, -$0] })
        #expect(kept.map { $0.codingPath.map(\.stringValue) } == (1...10).flatMap { _ in [[], ["next"]] })
        #expect(kept.first?.contains(.next) == true && kept.first?.allKeys.count == 2)
        // The decoder's own information leads back to them.
        kept = []
    }

    @Test("a chain of containers, and of encoders, ends on a small stack")
    func endsChains() async throws {
        var nested: Any = 1
        for _ in 0..<500 { nested = ["next": nested] as [String: Any] }
        let list = try PropertyList(any: nested)
        nonisolated(unsafe) let any = nested
        // A frame for each level, as it ends, needs more than this.
        let levels = await Threads.run(1, stackSize: 48 << 10) {
            let decoders = [
                try KeyValueDecoder().decode(Kept.self, from: list).decoder,
                try KeyValueDecoder().decode(Kept.self, from: any).decoder,
            ]
            return try decoders.map { decoder in
                var container = try decoder.container(keyedBy: Curious.Keys.self)
                for _ in 1..<500 {
                    container = try container.nestedContainer(keyedBy: Curious.Keys.self, forKey: .next)
                }
                return container.codingPath.count
            }
        }
        #expect(levels == [[499, 499]])
        let innermost = Innermost.Plan()
        _ = try KeyValueEncoder().encodeToPropertyList(Innermost(levels: 500, plan: innermost))
        nonisolated(unsafe) let plan = innermost
        let paths = await Threads.run(1, stackSize: 48 << 10) {
            let count = plan.encoder?.codingPath.count
            plan.encoder = nil
            return count
        }
        #expect(paths == [500])
    }

    @Test("an object that writes to a kept container as it ends breaks nothing")
    func writesAtTheEnd() throws {
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .custom { _ in Farewell() }
        let date = Date(timeIntervalSinceReferenceDate: 0)
        let write: (KeyedEncodingContainer<Curious.Keys>) throws -> Void = { container in
            var container = container
            try container.encode(2, forKey: .myNumber)
        }
        // In a nested container whose place a value has taken: ends with the value, when nothing more is written.
        let pending = Writer { encoder in
            var container = encoder.container(keyedBy: Curious.Keys.self)
            do {
                var nested = container.nestedContainer(keyedBy: Curious.Keys.self, forKey: .next)
                try nested.encode(date, forKey: .next)
            }
            try container.encode(1, forKey: .next)
            let kept = container
            Farewell.act = { try? write(kept) }
        }
        #expect(try encoder.encode(pending) as? [String: Int] == ["next": 1])
        // The value of a key, and a whole value, that another replaces.
        let replaced = Writer { encoder in
            var container = encoder.container(keyedBy: Curious.Keys.self)
            try container.encode(date, forKey: .next)
            let kept = container
            Farewell.act = { try? write(kept) }
            try container.encode(1, forKey: .next)
        }
        #expect(try encoder.encode(replaced) as? [String: Int] == ["next": 1, "myNumber": 2])
        let whole = Writer { encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date)
            var kept = container
            Farewell.act = { try? kept.encode(2) }
            try container.encode(1)
        }
        #expect(try encoder.encode(whole) as? Int == 2)
        Farewell.act = nil
    }

    @Test("a decoder kept past its call reads on, as a lazy decoding does", arguments: [true, false])
    func readsLazily(isTree: Bool) throws {
        struct Unwrap: Decodable {
            let decoder: any Decoder
            init(from decoder: any Decoder) { self.decoder = decoder }
        }
        struct Holder: Decodable {
            var lazy: [Unwrap]
        }
        let value: [String: Any] = ["lazy": [["myNumber": 1] as [String: Any], [2, 3] as [Any], "x"] as [Any]]
        let holder =
            isTree
            ? try KeyValueDecoder().decode(Holder.self, from: PropertyList(any: value))
            : try KeyValueDecoder().decode(Holder.self, from: value)
        let decoders = holder.lazy.map(\.decoder)
        #expect(decoders.map { $0.codingPath.map(\.stringValue) } == (0..<3).map { ["lazy", "Index \($0)"] })
        let table = try decoders[0].container(keyedBy: Curious.Keys.self)
        #expect(try table.allKeys == [.myNumber] && table.decode(Int.self, forKey: .myNumber) == 1)
        var list = try decoders[1].unkeyedContainer()
        #expect(try [list.decode(Int.self), list.decode(Int.self)] == [2, 3] && list.isAtEnd)
        #expect(try decoders[2].singleValueContainer().decode(String.self) == "x")
        #expect(
            failure { try decoders[2].singleValueContainer().decode(Int.self) }
                == "typeMismatch SELF.lazy[2]: Expected BinaryInteger at SELF.lazy[2], found String")
    }

    @Test("a call inside a call, and one that fails, leave each other's containers alone")
    func nestsCalls() throws {
        let inner = KeyValueDecoder()
        let outer = try decoder { (_, container) throws in
            #expect(try inner.decode(Curious.self, from: PropertyList(any: Self.value(7))).number == 7)
            #expect(try inner.decode(Curious.self, from: Self.value(8)).next == [-8])
            let text = failure { try inner.decode(Curious.self, from: ["myNumber": "x"]) }
            #expect(text == "typeMismatch SELF.myNumber: Expected BinaryInteger at SELF.myNumber, found String")
            #expect(try container.decode(Int.self, forKey: .myNumber).magnitude == 3)
        }
        #expect(try outer.decode(Curious.self, from: PropertyList(any: Self.value(3))).next == [-3])
        #expect(try outer.decode([Curious].self, from: [Self.value(3), Self.value(-3)]).map(\.number) == [3, -3])
    }

    @Test("each call decodes under its own strategy")
    func adoptsStrategies() throws {
        var snake = KeyValueDecoder()
        snake.keyDecodingStrategy = .convertFromSnakeCase
        let snakeValue: [String: Any] = ["my_number": 2]
        for _ in 0..<3 {
            #expect(try KeyValueDecoder().decode(Curious.self, from: PropertyList(any: Self.value(1))).number == 1)
            #expect(try snake.decode(Curious.self, from: PropertyList(any: snakeValue)).number == 2)
            #expect(try snake.decode(Curious.self, from: snakeValue).number == 2)
            #expect(
                failure { try KeyValueDecoder().decode(Curious.self, from: snakeValue) }
                    == "keyNotFound SELF: Dictionary does not contain key SELF.myNumber")
        }
    }

    @Test("a decoder that is used while a value inside its own is decoded reads both")
    func usesParents() throws {
        var parents: [any Decoder] = []
        let decoder = try decoder { (decoder, _) throws in
            if let parent = parents.last, decoder.codingPath.count == 2 {
                let again = try parent.container(keyedBy: Curious.Keys.self)
                let next = try again.nestedContainer(keyedBy: Curious.Keys.self, forKey: .next)
                #expect(try next.decode(Int.self, forKey: .myNumber) == -4)
                #expect(try again.decode([String: Int].self, forKey: .next) == ["myNumber": -4])
                #expect(decoder.codingPath.map(\.stringValue) == ["Index 0", "next"])
            }
            parents.append(decoder)
        }
        for _ in 0..<3 {
            parents = []
            let list = try PropertyList(any: [Self.value(4)])
            #expect(try decoder.decode([Curious].self, from: list).map(\.next) == [[-4]])
            #expect(parents.map { $0.codingPath.map(\.stringValue) } == [["Index 0"], ["Index 0", "next"]])
        }
        parents = []
    }

    // proves: G86
    @Test("one decoder on eight threads decodes each value by itself")
    func servesThreads() async throws {
        let decoder = KeyValueDecoder()
        let values = try await withThrowingTaskGroup(of: Int.self) { group in
            for thread in 1...8 {
                group.addTask {
                    var sum = 0
                    for number in 0..<500 {
                        let value = Self.value(number * thread)
                        let fromAny = try decoder.decode(Curious.self, from: value)
                        let fromTree = try decoder.decode(Curious.self, from: PropertyList(any: value))
                        sum += fromAny.number == -(fromTree.next.first ?? 1) ? 1 : 0
                    }
                    return sum
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(values == 8 * 500)
    }
}
