internal import FoundationEssentials
internal import PropertyLists

/// The state that all encoders and containers of one call of `encode` share. Used by one thread.
final class EncodingContext {
    let options: KeyValueEncoder
    /// The value's path in its future holder, such as a store: error and coding paths begin with it. Nil for a value on
    /// its own.
    let location: PropertyListPath?
    let converts: Bool
    let passesFloats: Bool
    /// Whether dictionaries with keys of any kind are to be dictionaries.
    let keysDictionaries: Bool
    /// The first error of a call that cannot throw, such as asking for an array where a dictionary was begun.
    var failure: (any Error)?
    var snakeCaseNames = SnakeCaseNames()

    init(_ options: KeyValueEncoder, location: PropertyListPath? = nil) {
        self.options = options
        self.location = location
        if case .keyed = options.dictionaryKeyEncodingStrategy {
            keysDictionaries = true
        } else {
            keysDictionaries = false
        }
        if case .useDefaultKeys = options.keyEncodingStrategy { converts = false } else { converts = true }
        if case .pass = options.nonConformingFloatEncodingStrategy { passesFloats = true } else { passesFloats = false }
    }
}

/// The key type that the standard library uses for the keys of a dictionary.
///
/// It is not public, and its keys must not be converted as if they were names of properties: so a dictionary is encoded
/// once, to see the key type of the container that it asks for.
enum DictionaryKeys {
    static let type: ObjectIdentifier? = {
        let probe = Probe()
        try? ["": 0].encode(to: probe)
        return probe.keyType
    }()

    private final class Probe: Encoder {
        var keyType: ObjectIdentifier?
        var codingPath: [any CodingKey] { [] }
        var userInfo: [CodingUserInfoKey: Any] { [:] }
        private lazy var discard = AnyEncodingNode(EncodingOutput(EncodingContext(KeyValueEncoder())))

        func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            keyType = ObjectIdentifier(type)
            return KeyedEncodingContainer(EncodingNode.KeyedContainer(discard, converts: false))
        }

        func unkeyedContainer() -> any UnkeyedEncodingContainer { discard.unkeyedContainer() }
        func singleValueContainer() -> any SingleValueEncodingContainer { discard.singleValueContainer() }
    }
}
