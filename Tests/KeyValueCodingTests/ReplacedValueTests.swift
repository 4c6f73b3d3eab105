import KeyValueCoding
import PropertyLists
import Testing

// Values that replace another under one key, or fail to.

private enum Keys: String, CodingKey { case one, two, three }
private struct Failure: Error {}

private func table(_ write: @escaping (inout KeyedEncodingContainer<Keys>) throws -> Void) -> Writer {
    Writer { encoder in
        var container = encoder.container(keyedBy: Keys.self)
        try write(&container)
    }
}

private var failing: Writer {
    table {
        try $0.encode(1, forKey: .one)
        throw Failure()
    }
}

/// Has a container under `one`; while the value under `two` is encoded, `write` goes on with the holder of both.
private func meanwhile(_ write: @escaping (inout KeyedEncodingContainer<Keys>) throws -> Void) -> Writer {
    table { container in
        var part = container.nestedContainer(keyedBy: Keys.self, forKey: .one)
        try part.encode(1, forKey: .one)
        var outer = container
        try container.encode(
            table { inner in
                try inner.encode(3, forKey: .three)
                try write(&outer)
            }, forKey: .two)
        outer = container
    }
}

@Suite struct ReplacedValueTests {
    private static let leavingOut: KeyValueEncoder = {
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .removed
        return encoder
    }()

    @Test("a nil that is left out takes the value before it, and one behind it stays")
    func leavesOut() throws {
        let value = table { container in
            try container.encode(5, forKey: .one)
            try container.encodeNil(forKey: .one)
            try container.encode(["a": 6], forKey: .two)
            try container.encode(Int?.none, forKey: .two)
            try container.encodeNil(forKey: .three)
            try container.encode(7, forKey: .three)
        }
        #expect(try encodesAlike(value, Self.leavingOut, as: ["three": 7] as [String: Any]))
        let nested = table { container in
            var part = container.nestedContainer(keyedBy: Keys.self, forKey: .one)
            try part.encode(1, forKey: .one)
            try container.encodeNil(forKey: .one)
            try container.encode(2, forKey: .two)
            var single = container.superEncoder(forKey: .two).singleValueContainer()
            try single.encodeNil()
            try container.encode(table { try $0.encode(3, forKey: .three) }, forKey: .three)
        }
        let expected: [String: Any] = ["three": ["three": 3] as [String: Any]]
        #expect(try encodesAlike(nested, Self.leavingOut, as: expected))
        let both: [Any] = [expected, ["three": 7] as [String: Any]]
        #expect(try encodesAlike([nested, value], Self.leavingOut, as: both))
    }

    @Test("a nil inside a value that is encoded meanwhile takes the value before it, too")
    func leavesOutOfTurn() throws {
        let value = table { container in
            try container.encode(5, forKey: .one)
            var outer = container
            try container.encode(
                table { inner in
                    try inner.encode(1, forKey: .one)
                    try outer.encodeNil(forKey: .one)
                }, forKey: .two)
            outer = container
        }
        #expect(try encodesAlike(value, Self.leavingOut, as: ["two": ["one": 1] as [String: Any]] as [String: Any]))
    }

    @Test("many nils that are left out take time that grows with their number")
    func leavesOutMany() throws {
        let rows = Dictionary(uniqueKeysWithValues: (0..<50_000).map { ("\($0)", $0.isMultiple(of: 2) ? $0 : nil) })
        #expect(try Self.leavingOut.encodeToPropertyList(rows)?.count == 25_000)
    }

    @Test("a swallowed failure behind a nested container leaves no element, and the value that it was to replace")
    func forgetsFailures() throws {
        let list = Writer { encoder in
            var container = encoder.unkeyedContainer()
            var nested = container.nestedUnkeyedContainer()
            try nested.encode(1)
            try? container.encode(failing)
            try container.encode(2)
        }
        #expect(try encodesAlike(list, as: [[1] as [Any], 2] as [Any]))
        let keyed = table { container in
            var nested = container.nestedContainer(keyedBy: Keys.self, forKey: .one)
            try nested.encode(1, forKey: .two)
            try? container.encode(failing, forKey: .one)
            try? container.encode(failing, forKey: .two)
            try nested.encode(3, forKey: .three)
            var same = container.nestedContainer(keyedBy: Keys.self, forKey: .one)
            try same.encode(4, forKey: .one)
        }
        let expected: [String: Any] = ["one": ["one": 4, "two": 1, "three": 3] as [String: Any]]
        #expect(try encodesAlike(keyed, as: expected))
    }

    @Test("of two kinds of container under one key the later counts")
    func replacesContainers() throws {
        let value = table { container in
            var keyed = container.nestedContainer(keyedBy: Keys.self, forKey: .one)
            try keyed.encode(1, forKey: .one)
            var list = container.nestedUnkeyedContainer(forKey: .one)
            try list.encode(2)
            try keyed.encode(3, forKey: .three)
            _ = container.nestedUnkeyedContainer(forKey: .two)
            var later = container.nestedContainer(keyedBy: Keys.self, forKey: .two)
            try later.encode(4, forKey: .two)
        }
        #expect(try encodesAlike(value, as: ["one": [2] as [Any], "two": ["two": 4] as [String: Any]]))
    }

    @Test("a value takes the place of both containers that were under its key")
    func replacesBoth() throws {
        let value = table { container in
            var keyed = container.nestedContainer(keyedBy: Keys.self, forKey: .one)
            try keyed.encode(1, forKey: .one)
            var list = container.nestedUnkeyedContainer(forKey: .one)
            try list.encode(2)
            try container.encode(3, forKey: .one)
        }
        #expect(try encodesAlike(value, as: ["one": 3] as [String: Any]))
    }

    @Test("a value that is encoded meanwhile takes the place of a nested container")
    func replacesOutOfTurn() throws {
        let value = meanwhile { try $0.encode(table { try $0.encode(2, forKey: .two) }, forKey: .one) }
        let expected: [String: Any] = [
            "one": ["two": 2] as [String: Any], "two": ["three": 3] as [String: Any],
        ]
        #expect(try encodesAlike(value, as: expected))
    }

    @Test("a scalar that is encoded meanwhile takes the place of a nested container")
    func replacesOutOfTurnByScalars() throws {
        let value = meanwhile { try $0.encode(2, forKey: .one) }
        #expect(try encodesAlike(value, as: ["one": 2, "two": ["three": 3] as [String: Any]] as [String: Any]))
    }

    @Test("of a value, a nil that is left out and another value in one place the last counts")
    func replacesNils() throws {
        let nothing = Writer { encoder in
            var single = encoder.singleValueContainer()
            try single.encodeNil()
        }
        let value = table { container in
            for key in [Keys.one, .two, .three] {
                try container.encode(
                    Writer { encoder in
                        var single = encoder.singleValueContainer()
                        try single.encode(["a": 1])
                        if key == .three { try single.encode(nothing) } else { try single.encodeNil() }
                        if key == .two { try single.encode(2) }
                    }, forKey: key)
            }
        }
        #expect(try encodesAlike(value, Self.leavingOut, as: ["two": 2] as [String: Any]))
    }

    @Test("a failure in a single value is told, and leaves nothing where it is swallowed")
    func forgetsSingleValues() throws {
        let telling = Writer { encoder in
            var single = encoder.singleValueContainer()
            try single.encode(failing)
        }
        #expect(throws: Failure.self) { try KeyValueEncoder().encode(telling) }
        #expect(throws: Failure.self) { try KeyValueEncoder().encodeToPropertyList(telling) }
        let swallowing = Writer { encoder in
            var single = encoder.singleValueContainer()
            try? single.encode(failing)
            try single.encode(2)
        }
        #expect(try encodesAlike([swallowing, swallowing], as: [2, 2] as [Any]))
    }

    @Test("a failure that is swallowed meanwhile leaves the key to what comes after it")
    func forgetsOutOfTurn() throws {
        let value = table { container in
            var outer = container
            try container.encode(
                table { inner in
                    try inner.encode(3, forKey: .three)
                    try? outer.encode(failing, forKey: .one)
                    var part = outer.nestedContainer(keyedBy: Keys.self, forKey: .one)
                    try part.encode(2, forKey: .two)
                }, forKey: .two)
            outer = container
        }
        let expected: [String: Any] = [
            "one": ["two": 2] as [String: Any], "two": ["three": 3] as [String: Any],
        ]
        #expect(try encodesAlike(value, as: expected))
    }

    @Test("a failure that is swallowed meanwhile leaves the container that it was to replace")
    func restoresOutOfTurn() throws {
        let value = meanwhile { try? $0.encode(failing, forKey: .one) }
        let expected: [String: Any] = [
            "one": ["one": 1] as [String: Any], "two": ["three": 3] as [String: Any],
        ]
        #expect(try encodesAlike(value, as: expected))
    }

    @Test("of two super encoders under one key the later counts, whatever was written to them")
    func replacesSuperEncoders() throws {
        let value = table { container in
            try ["a": 1].encode(to: container.superEncoder())
            try [2].encode(to: container.superEncoder())
            try 3.encode(to: container.superEncoder(forKey: .one))
            try 4.encode(to: container.superEncoder(forKey: .one))
        }
        #expect(try encodesAlike(value, as: ["super": [2] as [Any], "one": 4] as [String: Any]))
    }

    @Test("an integer beyond Float is an error, and the largest within it is none")
    func overflows() throws {
        #expect(
            failure { try KeyValueDecoder().decode(Float.self, from: UInt128.max) }
                == "typeMismatch SELF: UInt128 at SELF, cannot be exactly represented by Float")
        #expect(try KeyValueDecoder().decode(Double.self, from: UInt128.max) == 0x1p128)
        #expect(try KeyValueDecoder().decode(Float.self, from: UInt128.max >> 1) == 0x1p127)
    }

    @Test("a closure whose parameter has no type decodes from Any, which may hold a tree")
    func infersAny() throws {
        let decoder = KeyValueDecoder()
        let read = { try decoder.decode(Int.self, from: $0) }
        #expect(try read(5) == 5)
        #expect(try read(PropertyList(any: 6)) == 6)
        #expect(try decoder.decode([Int?].self, from: PropertyList(any: [1, "$null"] as [Any])) == [1, nil])
    }
}
