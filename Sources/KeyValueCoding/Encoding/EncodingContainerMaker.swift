internal import PropertyLists

/// What a keyed container writes to: a node, or what leads to one value's node after the other's.
///
/// Sound because whoever holds a seat sees to the node's life. A node is its own seat, and held as such. A lent seat's
/// container has come back before its node goes, or else holds the node itself from then on
/// (``EncodingNode/release()``).
class EncodingSeat {
    @exclusivity(unchecked) fileprivate final var place: Unmanaged<EncodingNode>?

    /// The node. Whoever makes a seat gives it one.
    @inline(__always) final var node: Unmanaged<EncodingNode> { place.unsafelyUnwrapped }

    final func take(_ node: EncodingNode) { place = .passUnretained(node) }
}

/// The seat of a container that is lent to one value after the other.
final class LentSeat: EncodingSeat {
    /// The node, where somebody has kept the container for longer than the value took.
    fileprivate var owner: EncodingNode?
}

/// Has made a keyed container for one type of keys, and lends it to one value after the other.
///
/// A container type is generic over its keys: to find it and its conformance again for each value, and to allocate it,
/// costs more than to write the value.
class EncodingContainerMaker {
    private let seat: LentSeat
    @exclusivity(unchecked) private final var isLent = false
    /// The keys that values had; nil where none are known yet, or they are not worth knowing.
    @exclusivity(unchecked) final var known: KnownKeys? {
        didSet { lentKeys = known.map(Unmanaged.passUnretained) }
    }
    /// The same, for who knows that this maker or its context holds them.
    @exclusivity(unchecked) private(set) final var lentKeys: Unmanaged<KnownKeys>?
    /// Whether keys that are not known are worth learning.
    @exclusivity(unchecked) final var learns: Bool

    init(_ seat: LentSeat, learns: Bool) {
        self.seat = seat
        self.learns = learns
    }

    /// Whether somebody else holds the container.
    var isShared: Bool { true }

    /// Lets the container write to the node, which gives it back; false where another value has it.
    @inline(__always) final func lend(to node: EncodingNode) -> Bool {
        guard !isLent else { return false }
        isLent = true
        seat.take(node)
        return true
    }

    /// Takes the container back; false where somebody still holds it, who then also holds the node.
    final func takeBack(from node: EncodingNode) -> Bool {
        if isShared {
            seat.owner = node
            return false
        }
        isLent = false
        return true
    }
}

/// Holds the container itself.
final class LendingMaker<Container>: EncodingContainerMaker {
    @exclusivity(unchecked) private var kept: Container

    init(_ container: Container, _ seat: LentSeat, learns: Bool) {
        kept = container
        super.init(seat, learns: learns)
    }

    /// Not inlined: where it is called from, the type of the container would have to be looked up.
    @inline(never) var container: Container { kept }

    /// Sound because a container is nothing but a reference, which was made sure of before any was kept.
    override var isShared: Bool {
        withUnsafeMutablePointer(to: &kept) { kept in
            !isKnownUniquelyReferenced(&UnsafeMutableRawPointer(kept).assumingMemoryBound(to: AnyObject.self).pointee)
        }
    }
}

/// The makers of one call of `encode`, by the types of their keys.
struct EncodingContainerMakers {
    private struct Entry {
        var keys: ObjectIdentifier
        var maker: Unmanaged<EncodingContainerMaker>
    }

    private var entries: [Entry] = []
    /// Holds the makers of the entries.
    private var held: [EncodingContainerMaker] = []
    /// The last types that had one container. A maker is made for the second: many a type has but one.
    private var seen = SIMD4<UInt>()
    private var lastSeen = 0
    /// What nodes may still go by after its maker is gone.
    private var retired: [KnownKeys] = []
    private static var limit: Int { 16 }

    /// Whether a container is one reference to an object, as the standard library has it now.
    static let canLend: Bool = {
        let container = KeyedEncodingContainer(
            KeyedEncodingStore<NameKey>(EncodingNode(EncodingContext(KeyValueEncoder())), converts: false))
        let parts = Mirror(reflecting: container).children
        guard parts.count == 1, let part = parts.first?.value, type(of: part) is AnyClass else { return false }
        guard MemoryLayout.size(ofValue: container) == MemoryLayout<UnsafeRawPointer>.size else { return false }
        let address = withUnsafeBytes(of: container) { $0.load(as: UnsafeRawPointer.self) }
        return address == UnsafeRawPointer(Unmanaged.passUnretained(part as AnyObject).toOpaque())
    }()

    @inline(__always) func known(for keys: ObjectIdentifier) -> Unmanaged<EncodingContainerMaker>? {
        for entry in entries where entry.keys == keys { return entry.maker }
        return nil
    }

    /// Whether the maker is still one of these.
    func hold(_ maker: Unmanaged<EncodingContainerMaker>) -> Bool {
        entries.contains { $0.maker.toOpaque() == maker.toOpaque() }
    }

    /// Whether a maker for the type is worth having. Notes that it was asked for.
    mutating func wants(_ keys: ObjectIdentifier) -> Bool {
        let bits = UInt(bitPattern: keys)
        if any(seen .== bits) { return entries.count < Self.limit && Self.canLend }
        seen[lastSeen & 3] = bits
        lastSeen &+= 1
        return false
    }

    mutating func add(_ maker: EncodingContainerMaker, for keys: ObjectIdentifier) {
        held.append(maker)
        entries.append(Entry(keys: keys, maker: .passUnretained(maker)))
    }

    /// Forgets a maker whose container somebody else holds.
    mutating func remove(_ maker: EncodingContainerMaker) {
        if let known = maker.known { retired.append(known) }
        entries.removeAll { $0.maker.toOpaque() == Unmanaged.passUnretained(maker).toOpaque() }
        held.removeAll { $0 === maker }
    }
}
