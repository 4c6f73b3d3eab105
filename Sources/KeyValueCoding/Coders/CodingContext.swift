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

    init(location: PropertyListPath?, converts: Bool, passesFloats: Bool) {
        self.location = location
        self.converts = converts
        self.passesFloats = passesFloats
    }

    /// Whether the strategy applies to keys of the type.
    final func converts(keysOf type: any CodingKey.Type) -> Bool { converts && !DictionaryKeys.contains(type) }
}
