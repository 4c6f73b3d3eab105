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
