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
/// `@unchecked Sendable`: changed only where one state alone has it, under the lock of the state's owner.
final class EditedContainer: @unchecked Sendable {
    /// The dictionary that the changes lie over; nil for a new one. Of no meaning for an array.
    fileprivate let base: PropertyList?
    /// A dictionary's changes; nil for a key that was removed.
    fileprivate var changes = KeyMap<Overlay?>()
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

    private init(copying other: EditedContainer) {
        (kind, base, changes, elements) = (other.kind, other.base, other.changes, other.elements)
    }

    fileprivate func copy() -> EditedContainer { EditedContainer(copying: self) }

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

    /// Changes the value at `step`, which fits the container; nil for none. An array's count is the index of a new
    /// element.
    fileprivate func change<Result>(
        _ step: PropertyListPath.Step, _ body: (inout Overlay?) throws(PropertyListError) -> Result
    ) throws(PropertyListError) -> Result {
        switch step {
        case .key(let key):
            return try key.withBytes { bytes throws(PropertyListError) in
                let utf8 = bytes.bindMemory(to: UInt8.self)
                return try changes.change(utf8, or: base?[utf8: utf8].map { .whole($0) }, body)
            }
        case .index(let index):
            let isNew = index == elements.count
            var element = isNew ? nil : Optional(elements[index])
            // The array gives up its reference: a container with two references would be copied.
            if !isNew { elements[index] = .whole(.emptyDictionary) }
            defer {
                if let element {
                    if isNew { elements.append(element) } else { elements[index] = element }
                } else if !isNew {
                    elements.remove(at: index)
                }
            }
            return try body(&element)
        }
    }

    /// The number of a dictionary's entries.
    fileprivate func countEntries() -> Int {
        var count = base?.count ?? 0
        changes.visit { change in
            let isInBase = change.key.withUnsafeBufferPointer { base?[utf8: $0] != nil }
            if change.value == nil { count -= isInBase ? 1 : 0 } else { count += isInBase ? 0 : 1 }
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
    /// Whether this is the very same value as another one.
    func isSame(as other: Overlay) -> Bool {
        switch (self, other) {
        case (.whole(let value), .whole(let other)): value.isIdentical(to: other)
        case (.edited(let container), .edited(let other)): container === other
        default: false
        }
    }

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
        guard case .edited? = container.overlay(step) else { return try value(at: steps) }
        return try own(container).change(step) { overlay throws(PropertyListError) in
            try overlay?.collapsedValue(at: steps.dropFirst())
        }
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
        try container.change(step) { overlay throws(PropertyListError) in
            if overlay == nil {
                overlay = .whole(try value.stored(in: path, from: position + 1))
                return
            }
            try overlay?.set(value, at: path, from: position + 1)
        }
    }

    /// Removes the value at the end of `path`, which is longer than `position`; says whether there was one.
    mutating func remove(at path: PropertyListPath, from position: Int = 0) throws(PropertyListError) -> Bool {
        guard reach(of: path.steps[position...]) == path.steps.count - position else { return false }
        let step = path.steps[position]
        let container = try container(for: step, at: path, position)
        guard position + 1 == path.steps.count else {
            return try container.change(step) { overlay throws(PropertyListError) in
                try overlay?.remove(at: path, from: position + 1) ?? false
            }
        }
        if step.isKey, step != .key(uidKey), container.isIntegerUIDWithOneMore {
            throw PropertyListError(.invalidValue, uidMessage, at: PropertyListPath(Array(path.steps[..<position])))
        }
        try container.change(step) { overlay throws(PropertyListError) in overlay = nil }
        return true
    }

    /// This value as a container of its own, that can be changed at `step`.
    private mutating func container(
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
        case .edited(let container): return own(container)
        case .whole(let list):
            let container = EditedContainer(over: list)
            self = .edited(container)
            return container
        }
    }

    /// The value's container, after it was copied if another state has it, too.
    private mutating func own(_ container: consuming EditedContainer) -> EditedContainer {
        self = .whole(.emptyDictionary)
        if !isKnownUniquelyReferenced(&container) { container = container.copy() }
        self = .edited(container)
        return container
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

extension PropertyList {
    /// The dictionary with changes of its keys; nil removes a key.
    func applying(_ changes: KeyMap<Overlay?>) throws(PropertyListError) -> PropertyList {
        if changes.isEmpty { return self }
        var builder = PropertyListBuilder(limits: .store)
        try builder.append(self, changedBy: changes)
        return try builder.finish()
    }
}

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
    mutating func append(_ base: PropertyList?, changedBy changes: KeyMap<Overlay?>) throws(PropertyListError) {
        try beginDictionary()
        var entries = SortedEntries(base ?? .emptyDictionary)
        for change in changes.sorted() {
            let isReplaced = try change.key.withUnsafeBufferPointer { key throws(PropertyListError) in
                while let next = entries.key, compareBytes(next, key) < 0 { try appendFirst(of: &entries) }
                return entries.key.map { compareBytes($0, key) == 0 } ?? false
            }
            if isReplaced { entries.advance() }
            guard let overlay = change.value else { continue }
            try change.key.withUnsafeBufferPointer { key throws(PropertyListError) in
                try append(validKey: UnsafeRawBufferPointer(key))
            }
            try append(overlay)
        }
        while entries.key != nil { try appendFirst(of: &entries) }
        try end()
    }

    private mutating func appendFirst(of entries: inout SortedEntries) throws(PropertyListError) {
        guard let key = entries.key else { return }
        try append(validKey: UnsafeRawBufferPointer(key))
        try append(entries.value)
        entries.advance()
    }
}
