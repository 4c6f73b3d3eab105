/// The value at a path of several layers, the upper layer first: dictionaries are merged by key at every depth; of
/// values of other kinds the uppermost alone counts, and nothing of a lower layer shows through it.
package struct LayeredValue {
    /// The value of one layer.
    package struct Part {
        package let value: PropertyList
        /// Whether the layer is locked: an empty dictionary in it is a value like others.
        fileprivate let isLocked: Bool
        /// Whether unset paths hide the value.
        fileprivate let isLower: Bool

        /// Whether values of lower layers show through.
        fileprivate var isOpen: Bool { value.kind == .dictionary && !(isLocked && value.count == 0) }
    }

    /// The uppermost value.
    package private(set) var first: Part?
    /// The values below it that count, the upper ones first: dictionaries, as the first is then.
    private var others: [Part] = []
    /// Whether no lower layer counts any more.
    package private(set) var isDecided = false
    /// The paths, relative to the value, at which nothing of lower layers shows.
    package var unset: PathTree?
    /// Keys of the value itself that are left out.
    private let omitted: [String]

    package init(omitting omitted: [String] = []) { self.omitted = omitted }

    /// Adds the value at `steps` in the next layer, whose value of the path's first key is `top`.
    package mutating func add(
        _ top: PropertyList, _ steps: ArraySlice<PropertyListPath.Step>, isLocked: Bool = false, isLower: Bool = false
    ) {
        guard !isDecided else { return }
        guard let value = top.value(atSteps: steps) else {
            isDecided = top.hides(steps, isLocked: isLocked)
            return
        }
        add(Part(value: value, isLocked: isLocked, isLower: isLower))
    }

    /// Adds the store's own value at the path; nil if a value of another kind stands on the way to it.
    package mutating func add(own value: PropertyList?) {
        guard let value else {
            isDecided = true
            return
        }
        add(Part(value: value, isLocked: false, isLower: false))
    }

    private mutating func add(_ part: Part) {
        if first == nil { first = part } else if part.isOpen { others.append(part) }
        if !part.isOpen { isDecided = true }
    }

    /// Says that no lower layer counts.
    package mutating func decide() { isDecided = true }

    /// Whether the value is that of one layer as it is.
    package var isPlain: Bool {
        guard others.isEmpty else { return false }
        guard let first, first.value.kind == .dictionary else { return true }
        return !(unset != nil && first.isLower) && omitted.allSatisfy { first.value[$0] == nil }
    }

    /// Whether the values are the same views as those of `other`, with the same unset paths.
    package func isSame(as other: LayeredValue) -> Bool {
        guard unset === other.unset, others.count == other.others.count else { return false }
        return zip(parts, other.parts).allSatisfy { one, other in
            one.value.document === other.value.document && one.value.index == other.value.index
        }
    }

    private var parts: [Part] { (first.map { [$0] } ?? []) + others }

    /// The value; nil if no layer has one.
    ///
    /// - Parameters:
    ///   - path: where the value stands in the store.
    ///   - isWhole: whether the dictionary at a path is one value, whose keys do not mix with those of another layer.
    package func merged(
        at path: PropertyListPath, isWhole: ((PropertyListPath) -> Bool)?
    ) throws(PropertyListError) -> PropertyList? {
        guard let first else { return nil }
        if isPlain || isWhole?(path) == true { return first.value }
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try append(to: &builder, at: path, isWhole)
        return try builder.finish()
    }
}

extension PropertyList {
    /// Whether a value that is no dictionary stands on the way of `steps`, so that lower layers do not count there.
    package func hides(_ steps: ArraySlice<PropertyListPath.Step>, isLocked: Bool = false) -> Bool {
        var value = self
        for step in steps {
            guard value.kind == .dictionary, case .key(let key) = step, !(isLocked && value.count == 0) else {
                return true
            }
            guard let next = value[key] else { return false }
            value = next
        }
        return false
    }
}

extension LayeredValue {
    /// Appends the merge of dictionaries. Recursion is bounded by their depth.
    private func append(
        to builder: inout PropertyListBuilder, at path: PropertyListPath, _ isWhole: ((PropertyListPath) -> Bool)?
    ) throws(PropertyListError) {
        try builder.beginDictionary()
        let layers = parts
        var entries = layers.map { SortedEntries($0.value) }
        while let key = Self.leastKey(entries) {
            let name = String(decoding: key, as: UTF8.self)
            var value = LayeredValue()
            value.unset = unset?.children[.key(name)]
            for index in entries.indices {
                guard let other = entries[index].key, compareBytes(other, key) == 0 else { continue }
                let layer = layers[index]
                if !value.isDecided, !(layer.isLower && value.unset?.isListed == true) {
                    value.add(Part(value: entries[index].value, isLocked: layer.isLocked, isLower: layer.isLower))
                }
                entries[index].advance()
            }
            guard let first = value.first, !omitted.contains(name) else { continue }
            try builder.append(validKey: UnsafeRawBufferPointer(key))
            let inner = isWhole == nil ? path : path.appending(.key(name))
            if value.isPlain || isWhole?(inner) == true {
                try builder.append(first.value)
            } else {
                try value.append(to: &builder, at: inner, isWhole)
            }
        }
        try builder.end()
    }

    /// The least of the next keys.
    private static func leastKey(_ entries: [SortedEntries]) -> UnsafeBufferPointer<UInt8>? {
        var least: UnsafeBufferPointer<UInt8>?
        for one in entries {
            guard let key = one.key else { continue }
            if let other = least, compareBytes(other, key) <= 0 { continue }
            least = key
        }
        return least
    }
}
