internal import PropertyLists

/// The values of all layers of a store at one time. A copy costs nothing.
struct LayerStates {
    let managed: State?
    let arguments: PropertyList?
    let own: State
    let lower: LowerStates

    /// The layers that a value is looked for in.
    enum Range {
        case all
        /// The application's domain and those below.
        case ownAndLower
        /// The layers below the application's domain, without the values at unset paths.
        case lower
    }

    /// The values at a path, those of the upper layers first.
    func values(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>, _ range: Range = .all
    ) throws(PropertyListError) -> LayeredValue {
        var value = LayeredValue()
        if range == .all {
            if let top = managed?.stored[key] { value.add(top, steps, isLocked: true) }
            if let top = arguments?[utf8: key] { value.add(top, steps) }
        }
        if value.isDecided { return value }
        try addOwn(to: &value, key, steps, isWanted: range != .lower)
        if !value.isDecided { try lower.add(to: &value, key, steps) }
        return value
    }

    /// - Parameter isWanted: false to add nothing, and to note what is unset around the path alone.
    private func addOwn(
        to value: inout LayeredValue, _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>,
        isWanted: Bool
    ) throws(PropertyListError) {
        if isWanted {
            if let own = try own.value(key, steps) {
                value.add(own: own)
            } else if !steps.isEmpty, own.hides(key, steps) {
                value.decide()
            }
            if value.isDecided { return }
        }
        guard let unset = own.unset else { return }
        let path = [.key(utf8: key)] + steps
        guard isWanted else {
            if unset.covers(path.dropLast()) { value.decide() }
            return
        }
        if unset.covers(path[...]) { value.decide() } else { value.unset = unset.node(at: path[...]) }
    }

    /// The dictionaries of the layers as wholes, without the reserved keys.
    func wholes(_ range: Range = .all) throws(PropertyListError) -> LayeredValue {
        var value = LayeredValue(omitting: UnsetPaths.reserved)
        if range == .all {
            if let managed = try managed?.whole(), managed.count > 0 { value.add(managed, [], isLocked: true) }
            if let arguments { value.add(arguments, []) }
        }
        if range != .lower {
            value.add(own: try own.whole())
            value.unset = own.unset
        }
        for domain in lower.domains { value.add(try domain.whole(), [], isLower: true) }
        value.add(lower.registered, [], isLower: true)
        value.add(lower.schemaDefaults, [], isLower: true)
        return value
    }
}

/// The values of the layers below the application's domain at one time.
struct LowerStates {
    /// The domains, the upper ones first.
    let domains: [State]
    let registered: PropertyList
    let schemaDefaults: PropertyList

    /// Adds the values at a path to those of the layers above.
    func add(
        to value: inout LayeredValue, _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(PropertyListError) {
        for domain in domains {
            if let top = try domain.value(key) { value.add(top, steps, isLower: true) }
            if value.isDecided { return }
        }
        if let top = registered[utf8: key] { value.add(top, steps, isLower: true) }
        if let top = schemaDefaults[utf8: key] { value.add(top, steps, isLower: true) }
    }
}

// MARK: - Differences

extension LayerStates {
    /// The domains, the upper ones first. As many as in any other states of the store.
    private var all: [State] { (managed.map { [$0] } ?? []) + [own] + lower.domains }

    /// Whether a value of a top-level key may be another one than in `old`.
    func mayDiffer(from old: LayerStates, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
        if own.unset !== old.own.unset { return true }
        if zip(all, old.all).contains(where: { !$0.isSame(key, as: $1) }) { return true }
        return lower.registered[utf8: key] != old.lower.registered[utf8: key]
    }

    /// The keys whose values may be other ones than in `old`, sorted.
    func keysThatDiffer(from old: LayerStates) throws(PropertyListError) -> [[UInt8]] {
        var keys: Set<[UInt8]> = []
        if own.unset !== old.own.unset {
            // A path that is unset, or no more, may be anywhere.
            for pair in EntryPairs(try old.whole(), try whole()) { keys.insert(Array(pair.keyBytes)) }
        }
        for (state, other) in zip(all, old.all) { state.forEachDifference(from: other) { keys.insert($0) } }
        for pair in EntryPairs(old.lower.registered, lower.registered) where pair.left != pair.right {
            keys.insert(Array(pair.keyBytes))
        }
        for key in UnsetPaths.reserved { keys.remove(Array(key.utf8)) }
        return keys.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func whole() throws(PropertyListError) -> PropertyList {
        try wholes().merged(at: [], isWhole: nil) ?? emptyDictionary
    }

    /// Whether the states are the same ones, so that nothing differs.
    func isSame(as other: LayerStates) -> Bool {
        lower.registered.isIdentical(to: other.lower.registered) && zip(all, other.all).allSatisfy { $0.isSame(as: $1) }
    }
}
