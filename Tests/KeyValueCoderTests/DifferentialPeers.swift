import Foundation
import KeyValueCoder
import PropertyLists
import Testing

/// One of Foundation's pairs of coders, and ours under the strategies that make the same of dates, data and nil.
protocol Peer: SendableMetatype {
    static var encoder: KeyValueEncoder { get }
    static var decoder: KeyValueDecoder { get }

    /// The value that Foundation's encoder writes.
    static func written<T: Encodable>(_ value: T) throws -> Form
    /// The values that ours writes, in each of its ways.
    static func writtenByUs<T: Encodable>(_ value: T) throws -> [Form]
    /// The value that Foundation's decoder reads.
    static func read<T: Decodable>(_ type: T.Type, from form: Form) throws -> T
    /// The values that ours reads, in each of its ways.
    static func readByUs<T: Decodable>(_ type: T.Type, from form: Form) -> [Result<T, any Error>]
}

/// PropertyListEncoder and PropertyListDecoder, through PropertyListSerialization.
enum PropertyListPeer: Peer {
    static var encoder: KeyValueEncoder {
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .stringNull
        return encoder
    }

    static var decoder: KeyValueDecoder {
        var decoder = KeyValueDecoder()
        decoder.nilDecodingStrategy = .stringNull
        decoder.boolDecodingStrategy = .exact
        return decoder
    }

    static func written<T: Encodable>(_ value: T) throws -> Form {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return Form(try PropertyListSerialization.propertyList(from: encoder.encode(value), format: nil))
    }

    static func writtenByUs<T: Encodable>(_ value: T) throws -> [Form] {
        [
            Form(try encoder.encode(value) as Any),
            Form(try #require(try encoder.encodeToPropertyList(value)).any()),
        ]
    }

    static func read<T: Decodable>(_ type: T.Type, from form: Form) throws -> T {
        let data = try PropertyListSerialization.data(fromPropertyList: form.foundation, format: .binary, options: 0)
        return try PropertyListDecoder().decode(type, from: data)
    }

    static func readByUs<T: Decodable>(_ type: T.Type, from form: Form) -> [Result<T, any Error>] {
        [
            Result { try decoder.decode(type, from: form.foundation) },
            Result { try decoder.decode(type, from: form.native) },
            Result { try decoder.decode(type, from: PropertyList(any: form.native)) },
        ]
    }
}

/// JSONEncoder and JSONDecoder. Their text is read and written as a tree: JSONSerialization on Linux reads every number
/// as a Double, which loses the end of long ones.
enum JSONPeer: Peer {
    static var encoder: KeyValueEncoder {
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .nsNull
        encoder.dataEncodingStrategy = .base64
        encoder.dateEncodingStrategy = .custom { $0.timeIntervalSinceReferenceDate }
        return encoder
    }

    static var decoder: KeyValueDecoder {
        var decoder = KeyValueDecoder()
        decoder.nilDecodingStrategy = .nsNull
        decoder.boolDecodingStrategy = .exact
        decoder.dataDecodingStrategy = .base64
        decoder.dateDecodingStrategy = .custom {
            Date(timeIntervalSinceReferenceDate: try KeyValueDecoder().decode(Double.self, from: $0))
        }
        return decoder
    }

    static func written<T: Encodable>(_ value: T) throws -> Form {
        Form(try PropertyList(parsing: [UInt8](JSONEncoder().encode(value)), as: .json).any()).asJSON
    }

    static func writtenByUs<T: Encodable>(_ value: T) throws -> [Form] {
        [Form(try encoder.encode(value) as Any) { Double("\($0)") ?? .nan }.asJSON]
    }

    static func read<T: Decodable>(_ type: T.Type, from form: Form) throws -> T {
        try JSONDecoder().decode(type, from: Data(PropertyList(any: form.asJSON.native).serialized(as: .json)))
    }

    static func readByUs<T: Decodable>(_ type: T.Type, from form: Form) -> [Result<T, any Error>] {
        var treeDecoder = decoder
        treeDecoder.nilDecodingStrategy = .default
        return [
            Result { try decoder.decode(type, from: form.asJSON.foundation) },
            Result { try treeDecoder.decode(type, from: PropertyList(any: form.asJSON.native)) },
        ]
    }
}

extension Peer {
    /// Both write the same, and each reads the other's output.
    static func compareWritten<T: Specimen>(_ type: T.Type, _ seed: UInt64) throws {
        var random = Seeded(seed: seed)
        let value = [T.make(&random)]
        let theirs = try written(value)
        for ours in try writtenByUs(value) {
            try #require(ours == theirs, "\(type) of seed \(seed)")
            try #require(try read([T].self, from: ours) == value, "\(type) of seed \(seed)")
        }
        for result in readByUs([T].self, from: theirs) {
            try #require(try result.get() == value, "\(type) of seed \(seed)")
        }
    }

    /// Of a value that was changed somewhere, both make the same, or both make an error.
    static func compareRead<T: Specimen>(_ type: T.Type, _ seed: UInt64) throws {
        var random = Seeded(seed: seed)
        guard case .array(let elements) = try written([T.make(&random)]) else { throw Unexpected() }
        // Some formats ask for a container at the top.
        let form = Form.array(elements.map { $0.mutated(&random) })
        for ours in readByUs([T].self, from: form) {
            try #require(isAlike(ours, of: form), "\(type) of seed \(seed): \(ours) from \(form)")
        }
    }
}

private struct Unexpected: Error {}
