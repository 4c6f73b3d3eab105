internal import FoundationEssentials
internal import PropertyLists

/// The state that all encoders and containers of one call of `encode` share. Used by one thread.
final class EncodingContext: CodingContext {
    let options: KeyValueEncoder
    /// Whether dictionaries with keys of any kind are to be dictionaries.
    let keysDictionaries: Bool
    /// True if the value is encoded for a store: sets, and dictionaries that become arrays, are written in an order of
    /// their own, so that equal ones are equal, and the keys that are left out are noted.
    let isForStore: Bool
    /// The first error of a call that cannot throw, such as asking for an array where a dictionary was begun.
    var failure: (any Error)?

    init(_ options: KeyValueEncoder, location: PropertyListPath? = nil, isForStore: Bool = false) {
        self.options = options
        self.isForStore = isForStore
        if case .keyed = options.dictionaryKeyEncodingStrategy {
            keysDictionaries = true
        } else {
            keysDictionaries = false
        }
        let converts = if case .useDefaultKeys = options.keyEncodingStrategy { false } else { true }
        let passesFloats = if case .pass = options.nonConformingFloatEncodingStrategy { true } else { false }
        super.init(location: location, converts: converts, passesFloats: passesFloats)
    }
}

/// The key type that the standard library uses for the keys of a dictionary.
///
/// It is not public, and its keys must not be converted as if they were names of properties: so a dictionary is encoded
/// once, to see the key type of the container that it asks for.
enum DictionaryKeys {
    private static let type: ObjectIdentifier? = {
        let probe = Probe()
        try? ["": 0].encode(to: probe)
        return probe.keyType
    }()

    /// Whether keys of the type are those of a dictionary.
    static func contains(_ keys: any CodingKey.Type) -> Bool { keys == NameKey.self || ObjectIdentifier(keys) == type }

    private final class Probe: Encoder {
        var keyType: ObjectIdentifier?
        var codingPath: [any CodingKey] { [] }
        var userInfo: [CodingUserInfoKey: Any] { [:] }
        private lazy var discard = AnyEncodingNode(EncodingOutput(EncodingContext(KeyValueEncoder())))

        func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            keyType = ObjectIdentifier(type)
            return KeyedEncodingContainer(EncodingNode.KeyedContainer(discard))
        }

        func unkeyedContainer() -> any UnkeyedEncodingContainer { discard.unkeyedContainer() }
        func singleValueContainer() -> any SingleValueEncodingContainer { discard.singleValueContainer() }
    }
}
