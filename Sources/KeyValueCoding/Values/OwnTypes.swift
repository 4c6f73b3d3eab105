internal import Synchronization

/// Types that are decoded by their own `init(from:)` under every strategy, as was found out for some value on some
/// thread.
///
/// A table that forgets: a type takes the place of another with the same remainder, and what is not found is looked
/// into again. `@unchecked Sendable` holds because each place is one word, read and written at once, and says all there
/// is to know about the type whose address it is: types are never freed, and never begin to be collections.
struct OwnTypes: @unchecked Sendable {
    private static let mask: UInt = 127
    static let shared = OwnTypes()

    private let places: UnsafeMutablePointer<Atomic<UInt>>

    /// Takes memory that is never given back: there is one.
    private init() {
        places = .allocate(capacity: Int(Self.mask) + 1)
        for index in 0...Int(Self.mask) { (places + index).initialize(to: Atomic(0)) }
    }

    @inline(__always) func contains(_ type: any Any.Type) -> Bool {
        let address = UInt(bitPattern: ObjectIdentifier(type))
        return places[Self.place(of: address)].load(ordering: .relaxed) == address
    }

    /// - Parameter type: one that no strategy is about.
    func insert(_ type: any Any.Type) {
        guard KnownType.of(type) == .plain else { return }
        let address = UInt(bitPattern: ObjectIdentifier(type))
        places[Self.place(of: address)].store(address, ordering: .relaxed)
    }

    /// Metadata is aligned to 8 bytes; two shifts spread neighbours and whole pages alike.
    @inline(__always) private static func place(of address: UInt) -> Int {
        Int(bitPattern: (address >> 3 ^ address >> 10) & mask)
    }
}
