/// Keyed containers that are used for one dictionary after another.
///
/// The standard library puts each container into a box whose type is generic over the container, and looks that type up
/// each time: most of what a container costs. A box that nobody holds any more serves the next dictionary that is read
/// with keys of the same type; and what it reads from remembers where the keys stood in the last one.
///
/// Nothing is counted for a container that is lent: it does not own what it reads from, which the list here does until
/// the value is finished. Then a container that somebody holds on to is given what it reads from, and leaves the list.
struct DecodingContainers: ~Copyable {
    private struct Place {
        var keys: ObjectIdentifier
        var isTaken = false
        /// Owned. Nil where there was no second container so far, or somebody held on to it.
        var spare: Unmanaged<SpareContainer>?
    }

    /// Room for as many as there may be, made for the first.
    private var places: UnsafeMutablePointer<Place>?
    private var count = 0
    private static var limit: Int { 16 }
    private static var rememberedKeys: Int { 64 }

    init() {}

    deinit {
        guard let places else { return }
        for index in 0..<count { places[index].spare?.release() }
        places.deallocate()
    }

    @inline(__always) private func freePlace(_ keys: ObjectIdentifier) -> Int? {
        guard let places else { return nil }
        var index = 0
        while index < count {
            if places[index].keys == keys, !places[index].isTaken { return index }
            index &+= 1
        }
        return nil
    }

    /// A container for keys of the type, lent to the node until the node is released; nil where there is none to spare.
    @inline(__always) func spare(_ keys: ObjectIdentifier, for node: DecodingNode) -> Unmanaged<SpareContainer>? {
        guard let places, let index = freePlace(keys), let spare = places[index].spare else { return nil }
        places[index].isTaken = true
        node.pooled = .taken(index)
        return spare
    }

    /// Makes a container for the node. The second for keys of a type is kept: most values have no second.
    mutating func make<Key: CodingKey>(_ type: Key.Type, for node: DecodingNode) -> KeyedDecodingContainer<Key> {
        let keys = ObjectIdentifier(type)
        let entries = KeyedEntries(node.context, keys: keys)
        entries.open(node)
        if case .possible = node.pooled, SpareContainer.areReferences {
            if let places, let index = freePlace(keys) {
                entries.memory = Self.rememberedKeys
                let spare = SpareContainer.make(type, entries)
                places[index].spare = .passRetained(spare)
                places[index].isTaken = true
                node.pooled = .taken(index)
                return spare.lend()
            }
            remember(keys)
        }
        entries.keepNode()
        return KeyedDecodingContainer(KeyedDecodingStore<Key>(entries))
    }

    private mutating func remember(_ keys: ObjectIdentifier) {
        guard count < Self.limit else { return }
        let places = places ?? .allocate(capacity: Self.limit)
        self.places = places
        (places + count).initialize(to: Place(keys: keys))
        count += 1
    }

    /// Takes a container back. One that somebody still holds stays as it is, with its value.
    @inline(__always) func giveBack(_ index: Int) {
        guard let places, let spare = places[index].spare else { return }
        places[index].isTaken = false
        if spare._withUnsafeGuaranteedRef({ $0.takeBack() }) { return }
        spare.release()
        places[index].spare = nil
    }
}

/// A node's share in the containers that are used again.
enum PooledContainer {
    /// It is not known when the node's containers are done with.
    case none
    case possible
    case taken(Int)
    /// It is the first node of a call, which may take a container that other calls used before.
    case first
    /// The container is of ``IdleContainers``, and the node's until it is finished.
    case shared(Unmanaged<SpareContainer>)
}

/// A container that can be used again, whatever its keys are.
class SpareContainer {
    final let keys: ObjectIdentifier
    final let entries: KeyedEntries
    /// What the container is a reference to. `@exclusivity(unchecked)` as a node's properties are.
    @exclusivity(unchecked) fileprivate final var box: AnyObject

    init(_ box: AnyObject, _ entries: KeyedEntries, keys: ObjectIdentifier) {
        self.keys = keys
        self.box = box
        self.entries = entries
    }

    /// Whether nobody else holds the container.
    @inline(__always) private final var isUnique: Bool {
        withUnsafeMutablePointer(to: &box) { isKnownUniquelyReferenced(&$0.pointee) }
    }

    /// Puts the container to rest; false where somebody still holds it, who then has it for good.
    @inline(__always) final func takeBack() -> Bool {
        guard isUnique else {
            handOver()
            return false
        }
        entries.close()
        return true
    }

    /// Lets the container own what it reads from.
    ///
    /// Sound because ``areReferences`` found the store where it is written to, and all stores are laid out alike,
    /// whatever their keys are. Nobody reads it at the same time: a container serves one thread.
    @inline(never) private final func handOver() {
        entries.keepNode()
        let store = Self.store(in: box)
        store.pointee = KeyedDecodingStore<NameKey>(entries)
    }

    private static func store(in box: AnyObject) -> UnsafeMutablePointer<KeyedDecodingStore<NameKey>> {
        // An object begins with its type and the count of its references; then come its properties.
        let address = Unmanaged.passUnretained(box).toOpaque() + 2 * MemoryLayout<UInt>.size
        return address.assumingMemoryBound(to: KeyedDecodingStore<NameKey>.self)
    }

    /// Whether a keyed container is one reference to an object that has the store as its first property, as it is in
    /// every standard library so far; else none is used again.
    static let areReferences: Bool = {
        let entries = KeyedEntries(DecodingContext(KeyValueDecoder()), keys: ObjectIdentifier(NameKey.self))
        let container = KeyedDecodingContainer(KeyedDecodingStore<NameKey>(entries))
        guard MemoryLayout.size(ofValue: container) == MemoryLayout<AnyObject>.size,
            let box = Mirror(reflecting: container).children.first?.value, type(of: box) is AnyObject.Type,
            unsafeBitCast(container, to: ObjectIdentifier.self) == ObjectIdentifier(box as AnyObject),
            Mirror(reflecting: box).children.contains(where: { $0.value is KeyedDecodingStore<NameKey> })
        else { return false }
        return store(in: box as AnyObject).withMemoryRebound(to: (UInt, UInt).self, capacity: 1) { words in
            let address = UInt(bitPattern: Unmanaged.passUnretained(entries).toOpaque())
            return words.pointee == (address, address)
        }
    }()
}

extension SpareContainer {
    /// A container that is lent; it has what it reads from for as long as this does.
    static func make<Key: CodingKey>(
        _ type: Key.Type, _ entries: KeyedEntries
    ) -> KeptContainer<KeyedDecodingContainer<Key>> {
        let container = KeyedDecodingContainer(KeyedDecodingStore<Key>(lending: entries))
        return KeptContainer(unsafeBitCast(container, to: AnyObject.self), entries, keys: ObjectIdentifier(type))
    }
}

/// Generic over the container rather than its keys: so the container's type, which is needed to copy it, is at hand.
final class KeptContainer<Container>: SpareContainer {
    /// Not inlined, since the caller would have to look the container's type up.
    ///
    /// Sound because the box is of a container of this type, which is that one reference.
    @inline(never) func lend() -> Container { unsafeBitCast(box, to: Container.self) }
}
