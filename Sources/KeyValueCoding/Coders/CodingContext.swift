internal import PropertyLists

/// The state of one call of `encode` or `decode` that both coders have.
class CodingContext {
    /// The value's path in its holder, such as a store: error and coding paths begin with it. Nil for a value on its
    /// own.
    final let location: PropertyListPath?
    /// Whether there is a strategy for keys.
    final let converts: Bool
    final let passesFloats: Bool
    /// At hand, where the constant itself would be asked each time whether it has been made.
    final let knownTypes = KnownType.table

    /// The thread of the call. What is remembered here is for it alone: on others a program may decode parts of the
    /// value at the same time, in the call and after it.
    final let thread = OwningThread()
    final var snakeCaseNames = SnakeCaseNames()
    private final var erasers: [KeptEraser] = []
    private final var isRepeating = false

    init(location: PropertyListPath?, converts: Bool, passesFloats: Bool) {
        self.location = location
        self.converts = converts
        self.passesFloats = passesFloats
    }

    /// Whether the strategy applies to keys of the type.
    final func converts(keysOf type: any CodingKey.Type) -> Bool { converts && !DictionaryKeys.contains(type) }
}

// MARK: - Keyed containers without their type

/// Makes the standard library's keyed containers for one type of keys.
///
/// The type of ours in them, and its conformance, are looked up at run time, at 900 instructions for each container. An
/// object of a class that is generic over it has both at hand.
class ContainerEraser {}

private struct KeptEraser {
    var keys: ObjectIdentifier
    var eraser: ContainerEraser
}

extension CodingContext {
    /// So few that the way through all of them is shorter than that of the run time.
    private static var mostErasers: Int { 16 }

    /// The eraser for a type of keys, made where there is none and another element is expected; nil where none is kept.
    final func eraser(for keys: any CodingKey.Type, _ make: () -> ContainerEraser) -> ContainerEraser? {
        guard thread.isCurrent, isRepeating else { return nil }
        let keys = ObjectIdentifier(keys)
        for index in erasers.indices where erasers[index].keys == keys { return erasers[index].eraser }
        guard erasers.count < Self.mostErasers else { return nil }
        let eraser = make()
        // Not appended in place: each look at an array that is changed in place is checked for exclusive access.
        erasers = erasers + [KeptEraser(keys: keys, eraser: eraser)]
        return eraser
    }

    /// Keeps erasers from now on: an array's next element is likely to have the types of this one. To make one for a
    /// value alone costs more than it saves.
    final func expectRepetition() { if thread.isCurrent { isRepeating = true } }
}
