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

    @Test("what Foundation's coders write, ours write, and each reads the other's", arguments: ComparedType.all)
    func agreesOnValues(type: ComparedType) throws {
        for seed in seeds {
            try type.compareWritten(PropertyListPeer.self, seed)
            try type.compareWritten(JSONPeer.self, seed)
        }
    }

    @Test("what is changed is read alike, or is an error for both", arguments: ComparedType.all)
    func agreesOnChangedValues(type: ComparedType) throws {
        for seed in seeds {
            try type.compareRead(PropertyListPeer.self, seed)
            try type.compareRead(JSONPeer.self, seed)
        }
    }
}
