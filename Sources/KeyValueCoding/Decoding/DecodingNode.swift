internal import PropertyLists

/// The position of a value relative to a node.
enum DecodingSlot {
    case named(String)
    case index(Int)
    /// The node's own value.
    case whole
}

/// The decoder of one value, from which its containers read.
///
/// This class knows Codable and the strategies, and holds no value; subclasses hold an `Any` or an index into a
/// property-list tree. A node that the caller keeps reads its value for as long as it is kept, as a lazy decoding does.
class DecodingNode: CodingNode {
    final let context: DecodingContext
    /// The record of the keys that are asked for; nil where the caller wants none.
    final let record: KeyRecord?
    /// The mapping from keys to names in this node's keyed containers.
    final private(set) var keyNames = DecodingNames.asTheyAre
    /// True if the type's own code asked which keys there are, as that of an enum does.
    final var showsKeys = false

    /// The root of a call of `decode`.
    init(_ context: DecodingContext) {
        self.context = context
        record = context.record
        // The depth of a node made for the value by `child`.
        super.init(path: [], depth: 1)
    }

    init(inside holder: DecodingNode, _ key: consuming LastKey, _ record: KeyRecord?) {
        context = holder.context
        self.record = record
        super.init(inside: holder, key)
    }

    // MARK: Access to the value, for subclasses to override

    /// The value as a scalar, or a case for no scalar, nil, or an absent value.
    func scalar(at slot: DecodingSlot) -> Scalar { .absent }

    /// The value itself, for a strategy's closure; nil where there is none.
    func any(at slot: DecodingSlot) -> Any? { nil }

    /// The name of the value's type, for an error.
    func typeName(at slot: DecodingSlot) -> String { "nil" }

    /// Makes the value's entries ready for look-up; false where it is no dictionary.
    func openEntries() -> Bool { false }

    /// Makes the value's elements ready for look-up; false where it is no array.
    func openElements() -> Bool { false }

    /// How many elements there are.
    var elementCount: Int { 0 }

    /// The names of all entries.
    var names: [String] { [] }

    /// The names of all entries and of those that defaults have beside them.
    var filledNames: [String] { names }

    /// Lets the value be what it is without the defaults for what it lacks.
    func forgetDefaults() {}

    /// Two names that are one key to a Swift dictionary.
    var lookAlikes: (String, String)? { nil }

    /// A node of the same kind for the value at `slot`; nil where there is none.
    func makeChild(_ slot: DecodingSlot, _ key: () -> LastKey, _ record: KeyRecord?) -> DecodingNode? { nil }

    // MARK: Values of exactly the requested type, nil for every other

    func bool(named name: String) -> Bool? { Bool(scalar(at: .named(name))) }
    func integer(named name: String) -> Int? { Int(scalar(at: .named(name))) }
    func double(named name: String) -> Double? { Double(scalar(at: .named(name))) }
    func string(named name: String) -> String? { String(scalar(at: .named(name))) }
}

// MARK: - Decoder, for `init(from:)`

extension DecodingNode: Decoder {
    final var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    final var codingPath: [any CodingKey] { (context.location?.codingPath ?? []) + pathInValue }

    final func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard openEntries() else { throw mismatch([String: Any].self, at: .whole, .none) }
        if DictionaryKeys.contains(Key.self) {
            try refuseLookAlikes()
        } else if context.converts {
            keyNames = convertedNames()
        }
        return KeyedDecodingContainer(KeyedContainer(self))
    }

    final func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard openElements() else { throw mismatch([Any].self, at: .whole, .none) }
        return UnkeyedContainer(self)
    }

    final func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValueContainer(self)
    }
}

// MARK: - Nil

extension DecodingNode {
    /// True for a value, false for a value that stands for nil, nil for no value.
    final func isPresent(_ scalar: Scalar, at slot: DecodingSlot) -> Bool? {
        if let isPlaceholder = context.isPlaceholder {
            guard let value = any(at: slot) else { return nil }
            if case .null = scalar, context.takesOptionals { return false }
            return !isPlaceholder(value)
        }
        switch scalar {
        case .absent: return nil
        case .null: return !context.takesOptionals
        case .string(let text): return context.sentinel != text
        default: return true
        }
    }
}

// MARK: - Nodes inside nodes

extension DecodingNode {
    /// A node for a nested container or a super decoder, which the caller may keep.
    final func nested(at slot: DecodingSlot, _ key: LastKey) throws -> DecodingNode {
        let child = try child(at: slot, { key }, record?.child(at: slot))
        // The values of an enum's case, which is the stored one alone.
        if showsKeys { child.forgetDefaults() }
        return child
    }

    /// A node for a value inside this one, or for this one's own value as another type.
    final func child(at slot: DecodingSlot, _ key: () -> LastKey, _ record: KeyRecord?) throws -> DecodingNode {
        guard depth < CodingLimits.depth else { throw tooDeep(key()) }
        guard let child = makeChild(slot, key, record) else { throw missing(slot, key()) }
        if let record, record.isExact { child.noteNames(in: record) }
        return child
    }
}

// MARK: - The keys asked for

extension DecodingNode {
    /// The name, noted as asked for.
    final func noted(_ name: String) -> String {
        record?.note(.key(name))
        return name
    }

    private final func noteNames(in record: KeyRecord) {
        if openEntries() { record.note(names: names) }
    }

    /// Runs the one decoding of a call of `decode`, then deals with left-over keys under the strategy.
    final func decodeRoot<T>(_ decode: (DecodingNode) throws -> T) throws -> T {
        guard let record, record.isExact else { return try decode(self) }
        noteNames(in: record)
        let value = try decode(self)
        let paths = record.leftOver(below: context.location?.codingPath ?? [])
        guard !paths.isEmpty else { return value }
        switch context.options.leftOverKeyDecodingStrategy {
        case .ignore: break
        case .throw: throw LeftOverKeys(paths, context).error
        case .report(let report): report(LeftOverKeys(paths, context))
        }
        return value
    }
}
