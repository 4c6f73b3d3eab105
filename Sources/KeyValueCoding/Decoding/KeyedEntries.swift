internal import CKVCodable
internal import PropertyLists

/// The entries that a keyed container reads, of one dictionary after another.
///
/// The properties are `@exclusivity(unchecked)` as those of ``DecodingNode`` are, and as soundly.
final class KeyedEntries {
    @exclusivity(unchecked) private var converts = false
    /// Whether the keys are those of a dictionary, which are data.
    let readsData: Bool
    /// Whether a date is a date under the strategy.
    @exclusivity(unchecked) private(set) var readsDates = false
    @exclusivity(unchecked) private(set) var passesFloats = false
    /// How many bytes the string that stands for nil has, -1 for none; nil where only the node knows what is nil.
    @exclusivity(unchecked) private(set) var sentinelLength: Int?
    let ownTypes = OwnTypes.shared
    let knownTypes = KnownType.table

    /// The node whose entries are read. Not counted: while the container is lent, the node is being read; from then on
    /// it is kept.
    @exclusivity(unchecked) private(set) var current: Unmanaged<DecodingNode>?
    @exclusivity(unchecked) private var kept: DecodingNode?
    /// Nil where keys are named as they are.
    @exclusivity(unchecked) private(set) var names: ConvertedNames?
    /// Whether names are as they are, and nobody wants to know which are asked for.
    @exclusivity(unchecked) private(set) var namesKeysAsTheyAre = true
    /// The dictionary in a property-list tree, where its values are found without asking the node.
    @exclusivity(unchecked) private(set) var dictionary: TreeDictionary?

    /// How many keys were looked up.
    @exclusivity(unchecked) private var turn = 0
    /// The keys that were looked up in the last dictionary, in order: what is read with keys of one type is mostly
    /// alike.
    @exclusivity(unchecked) private var expected: [ExpectedKey] = []
    /// The names of the expected keys, which stay where they are for as long as they are kept.
    @exclusivity(unchecked) private var expectedNames: [String] = []
    /// How many keys are remembered: none where there is no next dictionary.
    @exclusivity(unchecked) var memory = 0

    /// At rest, until it is opened.
    init(_ context: DecodingContext, keys: ObjectIdentifier) {
        readsData = keys == DictionaryKeys.type
        adopt(context)
    }

    /// Reads under the strategies of a call of `decode`.
    func adopt(_ context: DecodingContext) {
        converts = context.converts && !readsData
        readsDates = context.readsDates
        passesFloats = context.passesFloats
        let isKnown = context.isPlaceholder == nil && !context.hasManySentinels
        sentinelLength = isKnown ? context.sentinel?.utf8.count ?? -1 : nil
    }

    /// The node whose entries are read. A container at rest, which nobody has, reads nothing.
    @inline(__always) var node: DecodingNode { current?.takeUnretainedValue() ?? Self.nothing() }

    @inline(never) private static func nothing() -> DecodingNode {
        DecodingNode(DecodingContext(KeyValueDecoder()))
    }

    /// - Parameter node: one whose entries are open.
    @inline(__always) func open(_ node: DecodingNode) {
        current = .passUnretained(node)
        turn = 0
        namesKeysAsTheyAre = !converts && node.record == nil
        if converts { names = ConvertedNames(node.convertedNames()) }
        if namesKeysAsTheyAre { dictionary = node.treeDictionary }
    }

    /// Keeps the node for as long as this lives: the container is not lent, or not any more.
    func keepNode() { kept = current?.takeUnretainedValue() }

    @inline(__always) func close() {
        current = nil
        if converts { names = nil }
        dictionary = nil
    }
}

// MARK: - Look-up

extension KeyedEntries {
    /// Where the value of a key is in the document; nil where it is not.
    @inline(__always) func place(of name: String, in dictionary: TreeDictionary) -> Int? {
        let turn = turn
        self.turn = turn &+ 1
        if turn < expected.count, let key = expected[turn].place(of: name, in: dictionary) {
            return dictionary.value(ofKeyAt: key)
        }
        return search(name, dictionary, turn)
    }

    @inline(never) private func search(_ name: String, _ dictionary: TreeDictionary, _ turn: Int) -> Int? {
        guard let key = node.keyPlace(of: name) else { return nil }
        if turn < memory { remember(name, at: key &- dictionary.firstKey, of: dictionary.keyCount, turn) }
        return dictionary.value(ofKeyAt: key)
    }

    private func remember(_ name: String, at index: Int, of count: Int, _ turn: Int) {
        while expected.count <= turn {
            expected.append(ExpectedKey())
            expectedNames.append("")
        }
        if !expected[turn].isOf(name) {
            expected[turn] = ExpectedKey(name)
            expectedNames[turn] = name
        }
        expected[turn].remember(index, of: count)
    }
}
