/// Keyed containers that are used for one dictionary after another.
///
/// The standard library puts each container into a box whose type is generic over the container, and looks that type up
/// each time: most of what a container costs. A box that nobody holds any more serves the next dictionary that is read
/// with keys of the same type; and what it reads from remembers where the keys stood in the last one.
struct DecodingContainers {
    private struct Entry {
        var keys: ObjectIdentifier
        var isTaken: Bool
        /// Nil where there was no second container so far, or somebody held on to it.
        var spare: SpareContainer?
    }

    private var list: [Entry] = []
    private static var limit: Int { 16 }
    private static var rememberedKeys: Int { 64 }

    /// A container for keys of the type, lent to the node until the node is released; nil where there is none to spare.
    @inline(__always) mutating func spare(_ keys: ObjectIdentifier, for node: DecodingNode) -> SpareContainer? {
        for index in list.indices where list[index].keys == keys && !list[index].isTaken {
            guard let spare = list[index].spare else { return nil }
            list[index].isTaken = true
            node.pooled = .taken(index)
            return spare
        }
        return nil
    }

    /// Makes a container for the node. The second for keys of a type is kept: most values have no second.
    mutating func make<Key: CodingKey>(_ type: Key.Type, for node: DecodingNode) -> KeyedDecodingContainer<Key> {
        let entries = KeyedEntries(node.context, keys: ObjectIdentifier(type))
        entries.open(node)
        let container = KeyedDecodingContainer(KeyedDecodingStore<Key>(entries))
        if case .possible = node.pooled { keep(container, entries, for: node) }
        return container
    }

    private mutating func keep<Key: CodingKey>(
        _ container: KeyedDecodingContainer<Key>, _ entries: KeyedEntries, for node: DecodingNode
    ) {
        let keys = ObjectIdentifier(Key.self)
        guard let index = list.firstIndex(where: { $0.keys == keys && !$0.isTaken }) else {
            if list.count < Self.limit { list.append(Entry(keys: keys, isTaken: false, spare: nil)) }
            return
        }
        guard Self.areReferences else { return }
        entries.memory = Self.rememberedKeys
        let box = unsafeBitCast(container, to: AnyObject.self)
        list[index].spare = KeptContainer<KeyedDecodingContainer<Key>>(box, entries)
        list[index].isTaken = true
        node.pooled = .taken(index)
    }

    /// Takes a container back. One that somebody still holds stays as it is, with its value.
    @inline(__always) mutating func giveBack(_ index: Int) {
        list[index].isTaken = false
        if let spare = list[index].spare, spare.isUnique {
            spare.entries.close()
        } else {
            list[index].spare = nil
        }
    }

    /// Whether a keyed container is one reference to an object, as it is in every standard library so far; else none is
    /// used again.
    private static let areReferences: Bool = {
        let entries = KeyedEntries(DecodingContext(KeyValueDecoder()), keys: ObjectIdentifier(NameKey.self))
        let container = KeyedDecodingContainer(KeyedDecodingStore<NameKey>(entries))
        guard MemoryLayout.size(ofValue: container) == MemoryLayout<AnyObject>.size,
            let box = Mirror(reflecting: container).children.first?.value, type(of: box) is AnyObject.Type
        else { return false }
        return unsafeBitCast(container, to: ObjectIdentifier.self) == ObjectIdentifier(box as AnyObject)
    }()
}

/// A node's share in the containers that are used again.
enum PooledContainer {
    /// It is not known when the node's containers are done with.
    case none
    case possible
    case taken(Int)
}

/// A container that can be used again, whatever its keys are.
class SpareContainer {
    final let entries: KeyedEntries
    /// What the container is a reference to. `@exclusivity(unchecked)` as a node's properties are.
    @exclusivity(unchecked) fileprivate final var box: AnyObject

    init(_ box: AnyObject, _ entries: KeyedEntries) {
        self.box = box
        self.entries = entries
    }

    /// Whether nobody else holds the container.
    @inline(__always) final var isUnique: Bool {
        withUnsafeMutablePointer(to: &box) { isKnownUniquelyReferenced(&$0.pointee) }
    }
}

/// Generic over the container rather than its keys: so the container's type, which is needed to copy it, is at hand.
final class KeptContainer<Container>: SpareContainer {
    /// Not inlined, since the caller would have to look the container's type up.
    ///
    /// Sound because the box is of a container of this type, which is that one reference.
    @inline(never) func lend() -> Container { unsafeBitCast(box, to: Container.self) }
}
