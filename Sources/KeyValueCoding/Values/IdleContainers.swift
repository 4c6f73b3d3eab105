internal import Synchronization

/// Containers that no call of `decode` uses, one for each type of keys: most of what decoding one small value costs is
/// to make its container.
///
/// `@unchecked Sendable` holds because each place is one word, the address of a container that the table owns, or zero:
/// whoever swaps it for zero has the container alone, with all that was done to it before. They hold no value, nor
/// names of keys.
struct IdleContainers: @unchecked Sendable {
    private static let mask: UInt = 255
    static let shared = IdleContainers()

    private let places: UnsafeMutablePointer<Atomic<UInt>>

    /// Takes memory that is never given back: there is one.
    private init() {
        places = .allocate(capacity: Int(Self.mask) + 1)
        for index in 0...Int(Self.mask) { (places + index).initialize(to: Atomic(0)) }
    }

    /// A container for keys of the type, made where there is none, which is the caller's until it is put back; nil
    /// where containers cannot be used again.
    func take<Key: CodingKey>(
        _ type: Key.Type, _ context: DecodingContext
    ) -> Unmanaged<SpareContainer>? {
        let keys = ObjectIdentifier(type)
        if let spare = remove(keys) {
            spare._withUnsafeGuaranteedRef { $0.entries.adopt(context) }
            return spare
        }
        guard SpareContainer.areReferences else { return nil }
        return .passRetained(SpareContainer.make(type, KeyedEntries(context, keys: keys)))
    }

    private func remove(_ keys: ObjectIdentifier) -> Unmanaged<SpareContainer>? {
        let place = places + Self.place(of: keys)
        guard place.pointee.load(ordering: .relaxed) != 0,
            let address = UnsafeRawPointer(bitPattern: place.pointee.exchange(0, ordering: .acquiring))
        else { return nil }
        let spare = Unmanaged<SpareContainer>.fromOpaque(address)
        if spare._withUnsafeGuaranteedRef({ $0.keys == keys }) { return spare }
        // Of two types with one place, the last has it.
        spare.release()
        return nil
    }

    /// - Parameter spare: one that nobody uses.
    func put(_ spare: Unmanaged<SpareContainer>) {
        let place = places + spare._withUnsafeGuaranteedRef { Self.place(of: $0.keys) }
        let address = UInt(bitPattern: spare.toOpaque())
        if !place.pointee.compareExchange(expected: 0, desired: address, ordering: .releasing).exchanged {
            spare.release()
        }
    }

    /// Metadata is aligned to 8 bytes; two shifts spread neighbours and whole pages alike.
    private static func place(of keys: ObjectIdentifier) -> Int {
        let address = UInt(bitPattern: keys)
        return Int(bitPattern: (address >> 3 ^ address >> 11) & mask)
    }
}
