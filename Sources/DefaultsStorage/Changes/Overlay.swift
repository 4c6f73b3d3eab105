internal import PropertyLists

/// A value with changes laid over it: one of a document as it is, or a container some of whose values were replaced.
///
/// An untouched value stays a view of the document it came from, so that ten thousand changes inside a large value copy
/// it once, when it is asked for as a whole. ``PropertyList/setting(_:at:limits:)`` edits the document itself, and
/// copies it for each change.
enum Overlay {
    case whole(PropertyList)
    case edited(EditedContainer)
}

/// An array or dictionary over which changes lie.
///
/// `@unchecked Sendable`: changed only under the domain's lock, and no more once its delta is being committed.
final class EditedContainer: @unchecked Sendable {
    /// The dictionary that the changes lie over; nil for a new one. Of no meaning for an array.
    fileprivate let base: PropertyList?
    /// A dictionary's changes; nil for a key that was removed.
    fileprivate var changes = KeyTable<Overlay?>()
    /// An array's elements.
    fileprivate var elements: [Overlay] = []
    fileprivate let kind: PropertyListKind

    init(over base: PropertyList?) {
        kind = base?.kind ?? .dictionary
        self.base = base
        if kind == .array {
            elements.reserveCapacity(base?.count ?? 0)
            if let base { elements += base.elements.lazy.map { .whole($0) } }
        }
    }

    fileprivate func overlay(_ key: String) -> Overlay? {
        key.withBytes { bytes in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            if let change = changes[utf8] { return change }
            return base?[utf8: utf8].map { .whole($0) }
        }
    }

    fileprivate func overlay(_ step: PropertyListPath.Step) -> Overlay? {
        switch step {
        case .key(let key):
            return kind == .dictionary ? overlay(key) : nil
        case .index(let index):
            return kind == .array && elements.indices.contains(index) ? elements[index] : nil
        }
    }

    /// Replaces the value at `step`, which fits the container, by `overlay`; nil removes it.
    fileprivate func replace(_ step: PropertyListPath.Step, _ overlay: Overlay?) {
        switch step {
        case .key(let key):
            key.withBytes { changes.set(overlay, for: $0.bindMemory(to: UInt8.self)) }
        case .index(let index):
            if let overlay {
                if index == elements.count { elements.append(overlay) } else { elements[index] = overlay }
            } else {
                elements.remove(at: index)
            }
        }
    }

    /// The number of a dictionary's entries.
    fileprivate func countEntries() -> Int {
        var count = base?.count ?? 0
        for index in 0..<changes.count {
            let isInBase = changes.withKey(at: index) { base?[utf8: $0] != nil }
            if changes[index] == nil { count -= isInBase ? 1 : 0 } else { count += isInBase ? 0 : 1 }
        }
        return count
    }

    /// Whether a dictionary would be read back from XML as a UID, were one more of its entries gone.
    fileprivate var isIntegerUIDWithOneMore: Bool {
        guard case .whole(let list)? = overlay(uidKey), list.integer != nil else { return false }
        return countEntries() == 2
    }
}

// MARK: - Reading

extension Overlay {
    var kind: PropertyListKind {
        switch self {
        case .whole(let list): list.kind
        case .edited(let container): container.kind
        }
    }

    /// The value as one document.
    func materialised() throws(PropertyListError) -> PropertyList {
        switch self {
        case .whole(let list): return list
        case .edited: break
        }
        var builder = PropertyListBuilder(limits: .store)
        try builder.append(self)
        return try builder.finish()
    }

    /// The number of steps that lead to a value.
    func reach(of steps: ArraySlice<PropertyListPath.Step>) -> Int {
        var current = self
        for (index, step) in zip(0..., steps) {
            let next: Overlay? =
                switch current {
                case .whole(let list): list.value(at: PropertyListPath([step])).map { .whole($0) }
                case .edited(let container): container.overlay(step)
                }
            guard let next else { return index }
            current = next
        }
        return steps.count
    }

    /// Whether a value that is no dictionary stands on the way of `steps`.
    func hides(_ steps: ArraySlice<PropertyListPath.Step>) -> Bool {
        var current = self
        for (position, step) in zip(steps.indices, steps) {
            guard case .edited(let container) = current else {
                if case .whole(let list) = current { return list.hides(steps[position...]) }
                return false
            }
            guard container.kind == .dictionary else { return true }
            guard let next = container.overlay(step) else { return !step.isKey }
            current = next
        }
        return false
    }

    /// The value at the end of `steps`.
    func value(at steps: ArraySlice<PropertyListPath.Step>) throws(PropertyListError) -> PropertyList? {
        var current = self
        for (position, step) in zip(steps.indices, steps) {
            switch current {
            case .whole(let list):
                return list.value(atSteps: steps[position...])
            case .edited(let container):
                guard let next = container.overlay(step) else { return nil }
                current = next
            }
        }
        return try current.materialised()
    }

    /// As `value(at:)`; a container that had to be put together is kept so, for the next call.
    mutating func collapsedValue(
        at steps: ArraySlice<PropertyListPath.Step>
    ) throws(PropertyListError) -> PropertyList? {
        guard case .edited(let container) = self else { return try value(at: steps) }
        guard let step = steps.first else {
            let list = try materialised()
            self = .whole(list)
            return list
        }
        guard var overlay = container.overlay(step) else { return nil }
        guard case .edited = overlay else { return try overlay.value(at: steps.dropFirst()) }
        let value = try overlay.collapsedValue(at: steps.dropFirst())
        if case .whole = overlay { container.replace(step, overlay) }
        return value
    }
}

// MARK: - Changing

extension Overlay {
    /// Puts `value` at the end of `path`, whose first `position` steps lead here.
    mutating func set(
        _ value: PropertyList, at path: PropertyListPath, from position: Int = 0
    ) throws(PropertyListError) {
        guard position < path.steps.count else {
            self = .whole(value)
            return
        }
        let step = path.steps[position]
        let container = try container(for: step, at: path, position)
        if position + 1 == path.steps.count, step == .key(uidKey), value.integer != nil,
            container.countEntries() - (container.overlay(step) == nil ? 0 : 1) == 0
        {
            throw PropertyListError(.invalidValue, uidMessage, at: PropertyListPath(Array(path.steps[..<position])))
        }
        guard var overlay = container.overlay(step) else {
            container.replace(step, .whole(try value.stored(in: path, from: position + 1)))
            self = .edited(container)
            return
        }
        try overlay.set(value, at: path, from: position + 1)
        container.replace(step, overlay)
        self = .edited(container)
    }

    /// Removes the value at the end of `path`, which is longer than `position`; says whether there was one.
    mutating func remove(at path: PropertyListPath, from position: Int = 0) throws(PropertyListError) -> Bool {
        let step = path.steps[position]
        guard kind == (step.isKey ? .dictionary : .array) else { return false }
        if case .index(let index) = step, index < 0 || index >= count { return false }
        let container = try container(for: step, at: path, position)
        guard var overlay = container.overlay(step) else { return false }
        if position + 1 == path.steps.count {
            if step.isKey, step != .key(uidKey), container.isIntegerUIDWithOneMore {
                throw PropertyListError(
                    .invalidValue, uidMessage, at: PropertyListPath(Array(path.steps[..<position])))
            }
            container.replace(step, nil)
            self = .edited(container)
            return true
        }
        guard try overlay.remove(at: path, from: position + 1) else { return false }
        container.replace(step, overlay)
        self = .edited(container)
        return true
    }

    /// This value as a container that can be changed at `step`.
    private func container(
        for step: PropertyListPath.Step, at path: PropertyListPath, _ position: Int
    ) throws(PropertyListError) -> EditedContainer {
        let location = { PropertyListPath(Array(path.steps[..<position])) }
        let expected: PropertyListKind = step.isKey ? .dictionary : .array
        guard kind == expected else {
            throw PropertyListError(.pathMismatch, .expected("\(expected)", found: "\(kind)"), at: location())
        }
        if case .index(let index) = step, index < 0 || index > count {
            throw PropertyListError.noElement(at: location().appending(step))
        }
        switch self {
        case .edited(let container): return container
        case .whole(let list): return EditedContainer(over: list)
        }
    }

    /// Elements of an array.
    private var count: Int {
        switch self {
        case .whole(let list): list.count
        case .edited(let container): container.elements.count
        }
    }
}

extension PropertyList {
    /// The value inside the dictionaries that the steps from `position` on name. None of them may be read back as a
    /// UID.
    func stored(in path: PropertyListPath, from position: Int) throws(PropertyListError) -> PropertyList {
        if position < path.steps.count, path.steps.last == .key(uidKey), integer != nil {
            throw PropertyListError(.invalidValue, uidMessage, at: PropertyListPath(Array(path.steps.dropLast())))
        }
        return try wrapped(in: path, from: position)
    }
}

extension PropertyListPath.Step {
    var isKey: Bool {
        if case .key = self { return true }
        return false
    }
}

extension PropertyListLimits {
    /// The limits of a store's document.
    static var store: PropertyListLimits { PropertyListLimits() }
}

// MARK: - Building

extension PropertyListBuilder {
    /// Appends a value with its changes. Recursion is bounded by the depth limit, which the values keep.
    fileprivate mutating func append(_ overlay: Overlay) throws(PropertyListError) {
        switch overlay {
        case .whole(let list): try append(list)
        case .edited(let container):
            if container.kind == .array {
                try beginArray()
                for element in container.elements { try append(element) }
                try end()
            } else {
                try append(container.base, changedBy: container.changes)
            }
        }
    }

    /// Appends a dictionary with changes to it: both in the order of their keys, so that nothing has to be sorted.
    mutating func append(
        _ base: PropertyList?, changedBy changes: borrowing KeyTable<Overlay?>
    ) throws(PropertyListError) {
        try beginDictionary()
        let order = changes.sortedIndices()
        var next = order.startIndex
        if let base {
            for slot in base.document.keys(ofDictionaryAt: base.index) {
                let key = base.document.nodes[slot]
                let name = base.document.buffer(of: key)
                var isReplaced = false
                while next < order.endIndex {
                    let comparison = changes.withKey(at: order[next]) { compareBytes($0, name) }
                    if comparison > 0 { break }
                    try append(changes, entry: order[next])
                    next += 1
                    isReplaced = comparison == 0
                }
                if isReplaced { continue }
                try append(validKey: UnsafeRawBufferPointer(name))
                try append(PropertyList(document: base.document, index: base.index + key.distance))
            }
        }
        while next < order.endIndex {
            try append(changes, entry: order[next])
            next += 1
        }
        try end()
    }

    private mutating func append(_ changes: borrowing KeyTable<Overlay?>, entry index: Int) throws(PropertyListError) {
        guard let overlay = changes[index] else { return }
        // Not by `withKey`: a builder cannot be captured while it is changed.
        try key(changes.key(at: index))
        try append(overlay)
    }
}
