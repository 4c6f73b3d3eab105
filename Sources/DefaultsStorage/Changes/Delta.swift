internal import PropertyLists

/// A change inside a value, kept so that it can be made again on the value that another process wrote.
struct PathOperation: Sendable {
    /// Below the top-level key; never empty.
    var path: PropertyListPath
    /// nil removes.
    var value: PropertyList?

    /// The bytes that the operation keeps, beside those of the value that it made.
    var size: Int {
        path.steps.reduce(64 + (value.map { 16 * $0.node.span + $0.document.byteCount } ?? 0)) { sum, step in
            if case .key(let key) = step { sum + key.utf8.count } else { sum }
        }
    }

    /// Whether the path leads through an array.
    var hasIndex: Bool { !path.steps.allSatisfy(\.isKey) }
}

/// A value that was changed by paths.
struct EditedValue {
    /// The value with the changes; nil where there is none.
    var overlay: Overlay?
    /// The changes, in their order; empty when `isReplacement`.
    fileprivate var operations: [PathOperation] = []
    /// The value that the first change was made to, in which indexes mean elements; nil for none.
    var origin: PropertyList?
    /// The sum of their sizes.
    fileprivate var operationBytes = 0
    /// The length of `operations`, and their bytes, at which superseded ones are looked for next.
    fileprivate var nextCompaction = (count: 256, bytes: 1 << 20)
    /// Whether the value is ours as a whole, since it was set or removed as a whole before.
    fileprivate var isReplacement = false
}

/// A change of a top-level key.
enum DeltaEntry {
    case set(PropertyList)
    case removed
    /// In a box of its own, so that an entry is small and taking it out costs one reference.
    indirect case edited(EditedValue)
}

/// Changes that lie over a document: a map from top-level keys to their changes.
///
/// `@unchecked Sendable`: changed only under the lock of its domain and, once it is being committed, with the writer
/// lock held as well.
final class Delta: @unchecked Sendable {
    /// Read where it stands, and guarded by the locks: checking each access as well would take 300 of the 1,400
    /// instructions of a get from C.
    @exclusivity(unchecked) fileprivate(set) var entries = KeyTable<DeltaEntry>()

    var isEmpty: Bool { entries.isEmpty }

    /// The number of the key's entry.
    func find(_ key: UnsafeBufferPointer<UInt8>) -> Int? { isEmpty ? nil : entries.find(key) }

    func set(_ value: PropertyList, for key: UnsafeBufferPointer<UInt8>) {
        entries.set(.set(value), for: key)
    }

    /// Sets the value of the key whose entry ``find(_:)`` gave.
    func set(_ value: PropertyList, at index: Int) { entries[index] = .set(value) }

    func remove(_ key: UnsafeBufferPointer<UInt8>) {
        entries.set(.removed, for: key)
    }

    func set(_ entry: DeltaEntry, for key: UnsafeBufferPointer<UInt8>) {
        entries.set(entry, for: key)
    }

    /// The whole value of entry `index`; nil when the key was removed. Only for a delta that is not being committed.
    func collapsedValue(
        at index: Int, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(PropertyListError) -> PropertyList? {
        switch entries[index] {
        // A value as a whole is given as it is: stepping through it counts its document twice more, for each get.
        case .set(let list): return steps.isEmpty ? list : list.value(atSteps: steps)
        case .removed: return nil
        case .edited(var edited):
            let value = try edited.overlay?.collapsedValue(at: steps)
            entries[index] = .edited(edited)
            return value
        }
    }
}

extension DeltaEntry {
    var isRemoval: Bool {
        switch self {
        case .set: false
        case .removed: true
        case .edited(let edited): edited.overlay == nil
        }
    }

    /// The value as it is with the changes; nil when it was removed.
    var overlay: Overlay? {
        switch self {
        case .set(let list): .whole(list)
        case .removed: nil
        case .edited(let edited): edited.overlay
        }
    }

    func value(at steps: ArraySlice<PropertyListPath.Step>) throws(PropertyListError) -> PropertyList? {
        switch self {
        case .set(let list): list.value(atSteps: steps)
        case .removed: nil
        case .edited(let edited): try edited.overlay?.value(at: steps)
        }
    }
}

// MARK: - Changes by path

extension Delta {
    /// Sets `value` at `path` inside the value of `key`, which is `below` under this delta.
    func set(
        _ value: PropertyList, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>,
        over below: @autoclosure () throws(PropertyListError) -> PropertyList?
    ) throws(PropertyListError) {
        var edited = try edit(key, over: below)
        let operation = PathOperation(path: path, value: value)
        try edited.makeRoom(for: operation)
        if edited.overlay == nil {
            edited.overlay = .whole(try value.stored(in: path, from: 0))
        } else {
            try edited.overlay?.set(value, at: path)
        }
        record(operation, in: &edited, key)
    }

    /// Removes the value at `path` inside the value of `key`; says whether there was one.
    func remove(
        at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>,
        over below: @autoclosure () throws(PropertyListError) -> PropertyList?
    ) throws(PropertyListError) -> Bool {
        var edited = try edit(key, over: below)
        let operation = PathOperation(path: path, value: nil)
        try edited.makeRoom(for: operation)
        guard try edited.overlay?.remove(at: path) ?? false else { return false }
        record(operation, in: &edited, key)
        return true
    }

    private func edit(
        _ key: UnsafeBufferPointer<UInt8>, over below: () throws(PropertyListError) -> PropertyList?
    ) throws(PropertyListError) -> EditedValue {
        switch entries[key] {
        case .set(let list): return EditedValue(overlay: .whole(list), isReplacement: true)
        case .removed: return EditedValue(overlay: nil, isReplacement: true)
        case .edited(let edited): return edited
        case nil:
            let value = try below()
            return EditedValue(overlay: value.map { .whole($0) }, origin: value)
        }
    }

    private func record(
        _ operation: PathOperation, in edited: inout EditedValue, _ key: UnsafeBufferPointer<UInt8>
    ) {
        if !edited.isReplacement {
            // The table's copy lets go of the list first, or appending would copy it.
            if let index = entries.find(key) { entries[index] = .removed }
            edited.append(operation)
        }
        entries.set(.edited(edited), for: key)
    }
}

extension EditedValue {
    /// The most bytes of changes by path inside one value that wait for their flush.
    private static let mostBytes = 128 << 20

    /// - Throws: ``PropertyListError/Code/limitExceeded`` where the operations would keep too much memory.
    fileprivate mutating func makeRoom(for operation: PathOperation) throws(PropertyListError) {
        guard !isReplacement, operationBytes + operation.size > Self.mostBytes, !supersedes(operation) else { return }
        compact()
        // One that is larger by itself is kept but once, as any value is: the store's limits are for it.
        guard !operations.isEmpty, operationBytes + operation.size > Self.mostBytes else { return }
        throw PropertyListError(
            .limitExceeded,
            .expected(
                "changes by path of at most \(Self.mostBytes >> 20) MB until they are written",
                found: "\((operationBytes + operation.size) >> 20) MB"), at: operation.path)
    }

    fileprivate mutating func append(_ operation: PathOperation) {
        if supersedes(operation) { operationBytes -= operations.removeLast().size }
        operations.append(operation)
        operationBytes += operation.size
        if operations.count >= nextCompaction.count || operationBytes >= nextCompaction.bytes { compact() }
    }

    /// Whether the last operation set the value that this one sets.
    private func supersedes(_ operation: PathOperation) -> Bool {
        operation.value != nil && operations.last.map { $0.value != nil && $0.path == operation.path } ?? false
    }

    /// Leaves out operations whose effect a later one undoes.
    ///
    /// Only by paths of keys: an index means another element once one before it is removed. A value that is set later
    /// at the same path or around it wins; of removals at one path the last is enough.
    fileprivate mutating func compact() {
        var setLater: Set<PropertyListPath> = []
        var removedLater: Set<PropertyListPath> = []
        var kept: [PathOperation] = []
        for operation in operations.reversed() {
            let isSuperseded = operation.path.prefixes.contains { prefix in
                setLater.contains(prefix) || (operation.value == nil && removedLater.contains(prefix))
            }
            if isSuperseded { continue }
            if !operation.hasIndex {
                if operation.value == nil {
                    removedLater.insert(operation.path)
                } else {
                    setLater.insert(operation.path)
                }
            }
            kept.append(operation)
        }
        operations = kept.reversed()
        operationBytes = operations.reduce(0) { $0 + $1.size }
        nextCompaction = (max(256, operations.count * 2), max(1 << 20, operationBytes * 2))
    }

    /// Makes the same changes to `base` instead; gives those that no longer fit. One by an index is forgotten then,
    /// since the array in which the index means an element is.
    fileprivate mutating func replay(over base: PropertyList?) -> [(PathOperation, PropertyListError)] {
        guard !isReplacement else { return [] }
        var conflicts: [(PathOperation, PropertyListError)] = []
        var kept: [PathOperation] = []
        let mapping = operations.contains { $0.hasIndex } ? PathMapping(from: origin, to: base) : nil
        overlay = base.map { .whole($0) }
        for operation in operations {
            do throws(PropertyListError) {
                guard let moved = try mapping == nil ? operation : mapping?.map(operation) else { continue }
                try apply(moved)
                kept.append(moved)
            } catch {
                conflicts.append((operation, error))
                if !operation.hasIndex { kept.append(operation) }
            }
        }
        operations = kept
        operationBytes = kept.reduce(0) { $0 + $1.size }
        origin = base
        return conflicts
    }

    private mutating func apply(_ operation: PathOperation) throws(PropertyListError) {
        guard let value = operation.value else {
            _ = try overlay?.remove(at: operation.path)
            return
        }
        if overlay == nil {
            overlay = .whole(try value.stored(in: operation.path, from: 0))
        } else {
            try overlay?.set(value, at: operation.path)
        }
    }
}

extension PropertyListPath {
    /// The path's beginnings, from one step to the whole.
    fileprivate var prefixes: some Sequence<PropertyListPath> {
        (1...max(steps.count, 1)).lazy.map { PropertyListPath(Array(steps.prefix($0))) }
    }
}

// MARK: - Deltas over one another

extension Delta {
    /// Takes up the changes of `lower`, over which this delta lay.
    func absorb(below lower: Delta) {
        for index in 0..<lower.entries.count {
            lower.entries.withKey(at: index) { key in
                absorb(lower.entries[index], for: key)
            }
        }
    }

    private func absorb(_ lower: DeltaEntry, for key: UnsafeBufferPointer<UInt8>) {
        guard let own = entries.find(key) else {
            entries.set(lower, for: key)
            return
        }
        guard case .edited(var edited) = entries[own], !edited.isReplacement else { return }
        if case .edited(let lowerEdited) = lower, !lowerEdited.isReplacement {
            edited.operations = lowerEdited.operations + edited.operations
            edited.operationBytes += lowerEdited.operationBytes
            edited.origin = lowerEdited.origin
        } else {
            edited.isReplacement = true
            edited.operations = []
            edited.operationBytes = 0
        }
        entries[own] = .edited(edited)
    }

    /// Lays the whole values of `upper` over this delta's.
    func absorb(above upper: Delta) throws(PropertyListError) {
        for index in 0..<upper.entries.count {
            let value = try upper.entries[index].overlay?.materialised()
            upper.entries.withKey(at: index) { key in
                // Of the rest of a document that a value came in nothing is kept.
                entries.set(value.map { .set($0.isWholeDocument ? $0 : $0.compacted()) } ?? .removed, for: key)
            }
        }
    }

    /// Makes the changes again over another base.
    func rebase(
        conflict: (PropertyListPath, PropertyListError) -> Void,
        over below: (UnsafeBufferPointer<UInt8>) throws(PropertyListError) -> PropertyList?
    ) throws(PropertyListError) {
        for index in 0..<entries.count {
            guard case .edited(var edited) = entries[index], !edited.isReplacement else { continue }
            let base = try entries.withKey(at: index) { key throws(PropertyListError) in try below(key) }
            for (operation, error) in edited.replay(over: base) {
                conflict(PropertyListPath([.key(entries.key(at: index))]).appending(operation.path), error)
            }
            entries[index] = .edited(edited)
        }
    }

    /// `base` with these changes.
    func applied(to base: PropertyList) throws(PropertyListError) -> PropertyList {
        guard !isEmpty else { return base }
        var builder = PropertyListBuilder(limits: .store)
        try builder.append(base, changedBy: entries.mapValues(\.overlay))
        return try builder.finish()
    }
}
