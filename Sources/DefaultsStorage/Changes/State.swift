internal import PropertyLists

/// The values that the store's file has.
///
/// `@unchecked Sendable`: changed only before it becomes part of a state.
final class StoredValues: @unchecked Sendable {
    /// All values as one dictionary. A value in ``rows`` replaces the one here.
    private(set) var document: PropertyList
    /// The values that were written since the document was put together; nil for a removed key.
    private var rows = KeyMap<Overlay?>()
    /// The size of all values and their keys in memory.
    private(set) var size: PropertyListSize
    /// The paths that are unset.
    private(set) var unset: PathTree?
    /// The keys whose values cannot be read, with the reasons. A key whose value is in memory keeps that value.
    var damaged: [[UInt8]: PropertyListError] = [:]

    init(_ document: PropertyList) {
        self.document = document
        size = document.size
        unset = UnsetPaths.tree(of: document[UnsetPaths.key])
    }

    /// A copy of other values, to be changed.
    init(copying other: StoredValues) {
        (document, rows, size, unset, damaged) = (other.document, other.rows, other.size, other.unset, other.damaged)
    }

    subscript(key: UnsafeBufferPointer<UInt8>) -> PropertyList? {
        if let row = rows[key] {
            guard case .whole(let value)? = row else { return nil }
            return value
        }
        return document[utf8: key]
    }

    /// All values as one document.
    func whole() throws(PropertyListError) -> PropertyList {
        try document.applying(rows)
    }

    /// Sets the value of a key; nil for none.
    func set(_ value: PropertyList?, for key: UnsafeBufferPointer<UInt8>) {
        size += State.size(of: value, key) - State.size(of: self[key], key)
        if UnsetPaths.isKey(key) { unset = UnsetPaths.tree(of: value) }
        // Of the rest of a document that a value came in nothing is kept.
        rows.set(value.map { .whole($0.isWholeDocument ? $0 : $0.compacted()) }, for: key)
    }

    /// Puts the document together where the rows have become many, so that a change does not cost more with each.
    func fold() throws(PropertyListError) {
        guard rows.count > max(64, document.count / 2) else { return }
        document = try whole()
        rows = KeyMap()
    }

    /// Calls `body` with each key whose value may differ from that in `old`, in no order; a key may come twice.
    func forEachDifference<Failure: Error>(
        from old: StoredValues, _ body: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        if self === old { return }
        try rows.forEachDifference(from: old.rows, body)
        if document.isIdentical(to: old.document) { return }
        for pair in EntryPairs(old.document, document) where pair.left != pair.right { try body(Array(pair.keyBytes)) }
    }
}

/// The values of a store: those of its file, and the changes over them that are not written. A copy costs nothing.
struct State {
    let stored: StoredValues
    /// The new value of each changed key; nil for a removed one.
    private(set) var changes = KeyMap<Overlay?>()
    /// The paths of values that were replaced: a merge takes nothing of another program's value there.
    var replaced: Set<PropertyListPath> = []
    /// The size of all values and their keys in memory.
    private(set) var size: PropertyListSize
    /// The paths that are unset. A list of them that cannot be read names none.
    private(set) var unset: PathTree?

    init(_ stored: StoredValues) {
        self.stored = stored
        size = stored.size
        unset = stored.unset
    }

    static func size(of value: PropertyList?, _ key: UnsafeBufferPointer<UInt8>) -> PropertyListSize {
        value.map { PropertyListSize(nodes: 1, text: key.count) + $0.size } ?? .zero
    }
}

// MARK: - Reading

extension State {
    /// The value at `steps` inside the value of a top-level key.
    func value(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step> = []
    ) throws(PropertyListError) -> PropertyList? {
        if let change = changes[key] { return try change?.value(at: steps) }
        return try storedValue(key)?.value(atSteps: steps)
    }

    /// As `value`. A value that had to be put together is kept so, for the next call.
    mutating func collapsedValue(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(PropertyListError) -> PropertyList? {
        switch changes[key] {
        case nil:
            guard let value = try storedValue(key) else { return nil }
            return steps.isEmpty ? value : value.value(atSteps: steps)
        case .some(nil): return nil
        case .whole(let list)??: return steps.isEmpty ? list : list.value(atSteps: steps)
        case .edited??:
            return try changes.change(key, or: nil) { change throws(PropertyListError) in
                try change?.collapsedValue(at: steps)
            }
        }
    }

    /// The value of a key in the file.
    private func storedValue(_ key: UnsafeBufferPointer<UInt8>) throws(PropertyListError) -> PropertyList? {
        if let value = stored[key] { return value }
        try checkReadable(key)
        return nil
    }

    /// - Throws: the error of a key's value that cannot be read, and is not in memory either.
    func checkReadable(_ key: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        if stored.damaged.isEmpty || isChanged(key) || stored[key] != nil { return }
        if let error = stored.damaged[Array(key)] { throw error.inRow(of: Array(key)) }
    }

    var hasChanges: Bool { !changes.isEmpty }

    func isChanged(_ key: UnsafeBufferPointer<UInt8>) -> Bool { changes[key] != nil }

    /// The value of a key as a change of it would find it, without having been put together.
    private func overlay(_ key: UnsafeBufferPointer<UInt8>) throws(PropertyListError) -> Overlay? {
        if let change = changes[key] { return change }
        return try storedValue(key).map { .whole($0) }
    }

    /// Whether there is a value at `steps` inside the value of a key, also one that cannot be read.
    func holds(_ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step> = []) -> Bool {
        if let change = changes[key] { return change.map { $0.reach(of: steps) == steps.count } ?? false }
        if let value = stored[key] { return value.value(atSteps: steps) != nil }
        return steps.isEmpty && stored.damaged[Array(key)] != nil
    }

    /// Whether a value that is no dictionary stands on the way of `steps`.
    func hides(_ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>) -> Bool {
        if let change = changes[key] { return change?.hides(steps) ?? false }
        return stored[key]?.hides(steps) ?? false
    }

    /// All values as one document, without those that cannot be read.
    func whole() throws(PropertyListError) -> PropertyList {
        try stored.whole().applying(changes)
    }

    /// The keys whose values cannot be read.
    var unreadableKeys: [[UInt8]] {
        stored.damaged.keys.filter { key in
            key.withUnsafeBufferPointer { !isChanged($0) && stored[$0] == nil }
        }
    }

    /// Whether a key's value is the same one as in another state, or an equal one.
    func isSame(_ key: UnsafeBufferPointer<UInt8>, as other: State) -> Bool {
        if let change = changes[key]?.flatMap({ $0 }), let old = other.changes[key]?.flatMap({ $0 }),
            change.isSame(as: old)
        {
            return true
        }
        return (try? value(key)) == (try? other.value(key))
    }

    /// Whether this is the very same state as another one.
    func isSame(as other: State) -> Bool { changes.isSame(as: other.changes) && stored === other.stored }

    /// Calls `body` with each key whose value may differ from that in `old`, in no order; a key may come twice.
    func forEachDifference<Failure: Error>(
        from old: State, _ body: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        try changes.forEachDifference(from: old.changes, body)
        try stored.forEachDifference(from: old.stored, body)
    }
}

// MARK: - Changing

extension State {
    /// Sets the value of a key, or removes it.
    ///
    /// - Parameter growth: the size that this adds; nil to have it counted.
    mutating func set(
        _ value: PropertyList?, for key: UnsafeBufferPointer<UInt8>, growth: PropertyListSize? = nil
    ) {
        size = size + (growth ?? Self.size(of: value, key) - size(of: key))
        changes.set(value.map { .whole($0) }, for: key)
        if UnsetPaths.isKey(key) { unset = UnsetPaths.tree(of: value) }
    }

    /// Sets `value` at `path` inside the value of a key, or removes the value there; says whether anything changed.
    ///
    /// - Parameter growth: the size that this adds, as ``growth(setting:at:of:)`` gives it.
    mutating func set(
        _ value: PropertyList?, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>,
        growth: PropertyListSize
    ) throws(PropertyListError) -> Bool {
        if !isChanged(key) {
            let old = try storedValue(key)
            if let value, old == nil {
                changes.set(.whole(try value.stored(in: path, from: 0)), for: key)
                size += growth
                return true
            }
            if value == nil, old?.value(at: path) == nil { return false }
            changes.set(old.map { .whole($0) }, for: key)
        }
        let isChanged = try changes.change(key, or: nil) { change throws(PropertyListError) in
            guard let value else { return try change?.remove(at: path) ?? false }
            if change == nil {
                change = .whole(try value.stored(in: path, from: 0))
            } else {
                try change?.set(value, at: path)
            }
            return true
        }
        if isChanged { size += growth }
        if UnsetPaths.isKey(key) { unset = UnsetPaths.tree(of: try self.value(key)) }
        return isChanged
    }

    /// Takes over the change of a key, or none, in another state.
    mutating func take(_ key: UnsafeBufferPointer<UInt8>, from other: State) {
        guard let change = other.changes[key] else { return }
        size += other.size(of: key) - size(of: key)
        changes.set(change, for: key)
        if UnsetPaths.isKey(key) { unset = other.unset }
    }

    /// Calls `body` with each key whose change, or having one, is not the same as in `old`.
    func forEachChange<Failure: Error>(
        notIn old: State, _ body: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        try changes.forEachDifference(from: old.changes, body)
    }

    /// The changes, in the order of the bytes of their keys; nil for a removed value.
    func changedRows() throws(PropertyListError) -> [(key: [UInt8], value: PropertyList?)] {
        try changes.sorted().map { node throws(PropertyListError) in (node.key, try node.value?.materialised()) }
    }

    /// The stored values once the changes are written.
    func written() throws(PropertyListError) -> StoredValues {
        let new = StoredValues(copying: stored)
        try changes.visit { node throws(PropertyListError) in
            let value = try node.value?.materialised()
            node.key.withUnsafeBufferPointer { new.set(value, for: $0) }
        }
        try new.fold()
        return new
    }

    /// The merged value of a key with ours at the paths where it was replaced.
    func replacing(
        of key: UnsafeBufferPointer<UInt8>, _ ours: PropertyList?, in merged: PropertyList?
    ) throws(PropertyListError) -> PropertyList? {
        var result = merged
        for path in replaced where path.steps.first == .key(utf8: key) {
            let rest = PropertyListPath(Array(path.steps.dropFirst()))
            guard !rest.isEmpty, let inner = ours?.value(at: rest) else { return ours }
            result = try (result ?? emptyDictionary).setting(inner, at: rest)
        }
        return result
    }

    /// Takes the replaced paths of another state, if their keys are changed in this one.
    mutating func keepReplaced(of other: State) {
        replaced = other.replaced.filter { path in
            guard case .key(let key)? = path.steps.first else { return false }
            return key.withBytes { isChanged($0.bindMemory(to: UInt8.self)) }
        }
    }
}

// MARK: - Size

extension State {
    /// The size of a key and its value; zero without one, and for one that cannot be put together.
    func size(of key: UnsafeBufferPointer<UInt8>) -> PropertyListSize { Self.size(of: key, changes[key], stored) }

    static func size(
        of key: UnsafeBufferPointer<UInt8>, _ change: Overlay??, _ stored: StoredValues
    ) -> PropertyListSize {
        switch change {
        case nil: size(of: stored[key], key)
        case .some(nil): .zero
        case .whole(let value)??: size(of: value, key)
        case .some(let overlay?): size(of: try? overlay.materialised(), key)
        }
    }

    /// The size that a change at `path` inside the value of a key adds.
    ///
    /// - Parameter value: the value that is set; nil where one is removed.
    func growth(
        setting value: PropertyList?, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>
    ) throws(PropertyListError) -> PropertyListSize {
        let steps = [.key(utf8: key)] + path.steps
        let overlay = try overlay(key)
        let reached = overlay?.reach(of: path.steps[...]) ?? -1
        let old = reached == path.steps.count ? try overlay?.value(at: path.steps[...]) : nil
        guard let value else { return old.map { .zero - $0.size - keySize(steps[path.steps.count]) } ?? .zero }
        if let old { return value.size - old.size }
        // Missing dictionaries are made, with their keys.
        let missing = steps[(reached + 1)...]
        return missing.reduce(value.size + PropertyListSize(nodes: missing.count - 1)) { $0 + keySize($1) }
    }

    private func keySize(_ step: PropertyListPath.Step) -> PropertyListSize {
        guard case .key(let key) = step else { return .zero }
        return PropertyListSize(nodes: 1, text: key.utf8.count)
    }
}

/// A place for a state, guarded by the lock of its owner.
final class StateBox {
    /// Read and changed where it stands: checking each access as well would take a fifth of a get.
    @exclusivity(unchecked) var state: State

    init(_ state: State) { self.state = state }
}
