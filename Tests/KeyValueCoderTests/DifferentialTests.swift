import Foundation
import Testing

/// A type of some shape, whose values are compared.
struct ComparedType: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let compareWritten: @Sendable (any Peer.Type, UInt64) throws -> Void
    let compareRead: @Sendable (any Peer.Type, UInt64) throws -> Void

    init<T: Specimen>(_ type: T.Type) {
        testDescription = "\(type)"
        compareWritten = { try $0.compareWritten(type, $1) }
        compareRead = { try $0.compareRead(type, $1) }
    }

    static let all: [ComparedType] = [
        ComparedType(Scalars.self), ComparedType(Optionals.self), ComparedType(Collections.self),
        ComparedType(Tables.self), ComparedType(Choices.self), ComparedType(Singles.self), ComparedType(Records.self),
        ComparedType(Manual.self), ComparedType(Dog.self),
    ]
}

@Suite struct DifferentialTests {
    /// How many values are compared with each of the two peers, over all types: KVCODABLE_CASES, or 2,000.
    private var seeds: Range<UInt64> {
        let cases = ProcessInfo.processInfo.environment["KVCODABLE_CASES"].flatMap { UInt64($0) } ?? 2000
        return 0..<(cases / UInt64(ComparedType.all.count) + 1)
    }

    // proves: G80
    @Test("what Foundation's coders write, ours write, and each reads the other's", arguments: ComparedType.all)
    func agreesOnValues(type: ComparedType) throws {
        for seed in seeds {
            try type.compareWritten(PropertyListPeer.self, seed)
            try type.compareWritten(JSONPeer.self, seed)
        }
    }

    // proves: G80
    @Test("what is changed is read alike, or is an error for both", arguments: ComparedType.all)
    func agreesOnChangedValues(type: ComparedType) throws {
        for seed in seeds {
            try type.compareRead(PropertyListPeer.self, seed)
            try type.compareRead(JSONPeer.self, seed)
        }
    }

    /// Where a value is put into what `type` writes, and whether ours read that.
    struct OtherForm: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let compare: @Sendable (any Peer.Type) throws -> Void

        init<T: Specimen>(_ type: T.Type, _ path: [String], _ value: Form, isRead: Bool) {
            testDescription = "\(type) with \(value) at \(path.joined(separator: "."))"
            compare = { try Self.compare($0, type, path, value, isRead) }
        }

        private static func compare<T: Specimen>(
            _ peer: (some Peer).Type, _ type: T.Type, _ path: [String], _ value: Form, _ isRead: Bool
        ) throws {
            var random = Seeded(seed: 3)
            let form = try peer.written([T.make(&random)]).replacing((["[0]"] + path)[...], with: value)
            #expect(throws: DecodingError.self) { try peer.read([T].self, from: form) }
            for ours in peer.readByUs([T].self, from: form) {
                #expect(((try? ours.get()) != nil) == isRead)
                #expect(peer.isAlike(ours, of: form))
            }
        }
    }

    static let otherForms: [OtherForm] = [
        .init(Tables.self, ["byLevel"], .dictionary(["low": .integer(1), "mid": .integer(2)]), isRead: true),
        .init(Tables.self, ["byRank"], .dictionary(["1": .array([.integer(7)])]), isRead: true),
        .init(Tables.self, ["byReal"], .dictionary(["2": .integer(7)]), isRead: true),
        .init(
            Tables.self, ["byID"], .dictionary(["E621E1F8-C36C-495A-93FC-0C247A3E6E5F": .string("a")]), isRead: true),
        .init(Tables.self, ["byLevel"], .dictionary(["deep": .integer(1)]), isRead: false),
        .init(Tables.self, ["byLevel"], .dictionary(["low": .string("a")]), isRead: false),
        .init(Tables.self, ["byRank"], .dictionary(["3": .array([])]), isRead: false),
        .init(Tables.self, ["byRank"], .dictionary(["2": .array([.string("a")])]), isRead: false),
        .init(Tables.self, ["byFlag"], .dictionary(["true": .integer(1)]), isRead: false),
        .init(Dog.self, ["animal"], .dictionary(["legs": .integer(4), "name": .string("a")]), isRead: true),
        .init(Dog.self, ["animal"], .dictionary(["legs": .integer(4)]), isRead: false),
        .init(Dog.self, ["animal"], .dictionary(["legs": .integer(4), "name": .integer(4)]), isRead: false),
    ]

    @Test("a form that only ours read is what Foundation reads in its own form", arguments: otherForms)
    func readsOtherForms(other: OtherForm) throws {
        try other.compare(PropertyListPeer.self)
        try other.compare(JSONPeer.self)
    }

    /// What is written otherwise than by Foundation, each with its reason: what both write of `value` in an array.
    struct WrittenDifference: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let theirs: @Sendable () throws -> Form
        let ours: @Sendable () throws -> [Form]
        let expected: (theirs: Form?, ours: [Form?])

        init<T: Encodable & Sendable>(
            _ reason: String, _ peer: any Peer.Type, _ value: T, _ theirs: Form?, _ ours: Form?...
        ) {
            testDescription = reason
            self.theirs = { try peer.written(value) }
            self.ours = { try peer.writtenByUs(value) }
            expected = (theirs, ours)
        }
    }

    static let writtenDifferences: [WrittenDifference] = [
        .init(
            "a decimal number is one value, not the parts of its memory", PropertyListPeer.self, ["a": Decimal(1)],
            .dictionary([
                "a": .dictionary([
                    "exponent": .integer(0), "length": .integer(1), "isNegative": .bool(false),
                    "isCompact": .bool(true),
                    "mantissa": .array([1, 0, 0, 0, 0, 0, 0, 0].map { .integer($0) }),
                ])
            ]), .dictionary(["a": .other("Decimal 1")]), .dictionary(["a": .string("1")])),
        .init(
            "a decimal number keeps all its digits in an Any, where JSON has a number", JSONPeer.self,
            ["a": Decimal(string: "0.1")], .dictionary(["a": .real(0.1)]), .dictionary(["a": .other("Decimal 0.1")])),
        .init(
            "a URL is one value, not the parts of one", PropertyListPeer.self, ["a": URL(string: "b:c")],
            .dictionary(["a": .dictionary(["relative": .string("b:c")])]), .dictionary(["a": .other("URL b:c")]),
            .dictionary(["a": .string("b:c")])),
        .init(
            "a URL stays a URL in an Any", JSONPeer.self, ["a": URL(string: "b:c")],
            .dictionary(["a": .string("b:c")]), .dictionary(["a": .other("URL b:c")])),
        .init(
            "a value alone needs no container", PropertyListPeer.self, 1, nil, .integer(1), .integer(1)),
        .init(
            "numbers that are not finite pass unless the strategy says otherwise", JSONPeer.self,
            ["a": Double.infinity],
            nil, .dictionary(["a": .real(.infinity)])),
    ]

    // proves: G80
    @Test("what is written otherwise has its reason", arguments: writtenDifferences)
    func names(difference: WrittenDifference) throws {
        #expect((try? difference.theirs()) == difference.expected.theirs)
        #expect(try difference.ours() == difference.expected.ours)
    }
}
