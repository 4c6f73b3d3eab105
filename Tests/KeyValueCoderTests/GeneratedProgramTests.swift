import Foundation
import KeyValueCoder
import PropertyLists
import Testing

/// Programs drawn from seeds, 20,000 encodings and 60,000 decodings in the long proofs: Any against the tree against
/// Foundation.
@Suite struct GeneratedProgramTests {
    static let cases = ProcessInfo.processInfo.environment["KVCODABLE_CASES"].flatMap { UInt64($0) } ?? 2000

    // proves: G81
    @Test("programs write the same to Any, to the tree and with Foundation", arguments: 0..<4 as Range<UInt64>)
    func writes(part: UInt64) throws {
        for seed in 0..<(Self.cases / 40) {
            let program = EncodingProgram(seed: seed * 4 + part)
            let theirs = try PropertyListPeer.written([program])
            for ours in try PropertyListPeer.writtenByUs([program]) {
                #expect(ours == theirs, "seed \(program.seed)")
            }
        }
    }

    /// The value that a misused encoder wrote, or its refusal.
    private func form(_ write: () throws -> Any?) throws -> Form? {
        do {
            return Form(try write() as Any)
        } catch is EncodingProgram.Failure {
            return .other("its own failure")
        } catch EncodingError.invalidValue(_, let context) {
            // The tree refuses a value that an Any takes: a container for a value whose turn it is not.
            return context.debugDescription.contains("while one inside it is") ? nil : .other("refused")
        }
    }

    @Test("programs that misuse an encoder write the same to Any and to the tree", arguments: 0..<4 as Range<UInt64>)
    func misuses(part: UInt64) throws {
        var written = 0
        for seed in 0..<(Self.cases / 40) {
            for strategy in [NilCodingStrategy.stringNull, .removed] {
                var encoder = KeyValueEncoder()
                encoder.nilEncodingStrategy = strategy
                let seed = seed * 4 + part
                let any = try form { try encoder.encode([EncodingProgram(seed: seed, misuses: true)]) }
                let tree = try form {
                    try encoder.encodeToPropertyList([EncodingProgram(seed: seed, misuses: true)])?.any()
                }
                if let any, let tree {
                    #expect(any == tree, "seed \(seed)")
                    if case .other = any { continue }
                    written += 1
                }
            }
        }
        #expect(written > Self.cases / 400)
    }

    // proves: G80
    @Test("programs read the same from Any, from the tree and with Foundation", arguments: 0..<4 as Range<UInt64>)
    func reads(part: UInt64) throws {
        for seed in 0..<(Self.cases * 3 / 20) {
            let seed = seed * 4 + part
            let form = try PropertyListPeer.written([EncodingProgram(seed: seed)])
            let file = try PropertyListSerialization.data(
                fromPropertyList: form.foundation, format: .binary, options: 0)
            let theirs = PropertyListDecoder()
            theirs.userInfo[DecodingProgram.key] = seed
            var ours = PropertyListPeer.decoder
            ours.userInfo[DecodingProgram.key] = seed
            let expected = (try? theirs.decode([DecodingProgram].self, from: file))?.map(\.notes)
            let tree = try PropertyList(any: form.native)
            for value in [form.native, form.foundation, tree] as [Any] {
                let found = (try? ours.decode([DecodingProgram].self, from: value))?.map(\.notes)
                #expect(found == expected, "seed \(seed)")
            }
        }
    }
}
