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
    ///
    /// - Parameter entries: the node's, opened: that may run a strategy's closure, which must not run in here.
    mutating func make<Key: CodingKey>(
        _ type: Key.Type, _ entries: KeyedEntries, for node: DecodingNode
    ) -> KeyedDecodingContainer<Key> {
        let keys = ObjectIdentifier(type)
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
