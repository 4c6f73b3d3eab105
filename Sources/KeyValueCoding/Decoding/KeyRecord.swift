package import PropertyLists

/// The keys that a value's decoding asked for, in each dictionary that it read: the keys that the type knows.
///
/// Safe to hand on, since one decoding fills it on one thread, and it is only read afterwards.
package final class KeyRecord: @unchecked Sendable {
    /// Keys that were looked for, whether or not they were there, by their names in the dictionary: steps, which are
    /// the same where their bytes are.
    package var asked: Set<PropertyListPath.Step> { earlier.union(latest) }
    /// The keys asked for last. To put 27 names into a set takes longer than to decode as many values.
    private var latest: [PropertyListPath.Step] = []
    private var earlier: Set<PropertyListPath.Step> = []
    /// Whether the decoding took all the keys that there were, as a dictionary's does.
    package internal(set) var asksAll = false
    /// The records of the values of keys.
    package private(set) var children: [PropertyListPath.Step: KeyRecord] = [:]
    /// The record of all elements of an array together.
    package private(set) var elements: KeyRecord?

    /// Whether each element has a record of its own, and the names present are noted beside those asked for.
    let isExact: Bool
    /// Of an exact record: all names in the dictionary.
    private var names: [String] = []
    /// Of an exact record: the record of each element.
    private var indices: [Int: KeyRecord] = [:]

    package convenience init() { self.init(isExact: false) }

    init(isExact: Bool) { self.isExact = isExact }

    /// The record of a value inside this one, the same one each time.
    func child(at slot: DecodingSlot) -> KeyRecord {
        let known: KeyRecord? =
            switch slot {
            case .whole: self
            case .named(let name): children[.key(name)]
            case .index(let index): isExact ? indices[index] : elements
            }
        if let known { return known }
        let child = KeyRecord(isExact: isExact)
        put(child, at: slot)
        return child
    }

    /// Notes a key that is asked for.
    func note(_ key: PropertyListPath.Step) {
        latest.append(key)
        guard latest.count == 64 else { return }
        earlier.formUnion(latest)
        latest.removeAll(keepingCapacity: true)
    }

    /// Notes the key at the end of a path of keys; one in an array is not noted.
    package func note(_ path: PropertyListPath) {
        guard let last = path.steps.last else { return }
        var record = self
        for step in path.steps.dropLast() {
            guard case .key(let name) = step else { return }
            record = record.child(at: .named(name))
        }
        record.note(last)
    }

    /// Whether decoding asked for a key, or for all that there are.
    package func asks(for key: PropertyListPath.Step) -> Bool {
        asksAll || latest.contains(key) || earlier.contains(key)
    }

    /// Whether decoding asked for the value at a path, or took a value around it as a whole.
    package func asks(for path: PropertyListPath) -> Bool {
        var record = self
        for step in path.steps.dropLast() {
            let inner: KeyRecord? = if case .index = step { record.elements } else { record.children[step] }
            guard let inner else { return true }
            record = inner
        }
        return path.steps.last.map { record.asks(for: $0) } ?? true
    }

    private func put(_ child: KeyRecord, at slot: DecodingSlot) {
        switch slot {
        case .whole: break
        case .named(let name): children[.key(name)] = child
        case .index(let index): if isExact { indices[index] = child } else { elements = child }
        }
    }
}

// MARK: - Exact records

extension KeyRecord {
    /// A record for one attempt at a value, which counts when the attempt succeeds: an attempt that a type gives up
    /// says nothing about the keys that it knows.
    func attempt(at slot: DecodingSlot) -> KeyRecord {
        isExact ? KeyRecord(isExact: true) : child(at: slot)
    }

    func keep(_ attempt: KeyRecord, at slot: DecodingSlot) {
        if isExact { child(at: slot).merge(attempt) }
    }

    /// Recursion is bounded by the depth of the decoded value.
    private func merge(_ other: KeyRecord) {
        for key in other.asked { note(key) }
        if names.isEmpty { names = other.names }
        for case (.key(let name), let record) in other.children { child(at: .named(name)).merge(record) }
        for (index, record) in other.indices { child(at: .index(index)).merge(record) }
    }

    /// Notes the names of a dictionary, all of which are left over until they are asked for.
    func note(names: [String]) { self.names = names }

    /// Takes the value as read, with all its keys.
    func takeWhole() { for name in names { note(.key(name)) } }

    /// The paths of the keys that no container was asked for, in order; `path` leads to the value.
    func leftOver(below path: [any CodingKey]) -> [[any CodingKey]] {
        var paths: [[any CodingKey]] = []
        collect(below: path, into: &paths)
        return paths
    }

    private func collect(below path: [any CodingKey], into paths: inout [[any CodingKey]]) {
        let asked = asked
        for name in names.sorted() {
            let path = path + [NameKey(name)]
            if asked.contains(.key(name)) {
                children[.key(name)]?.collect(below: path, into: &paths)
            } else {
                paths.append(path)
            }
        }
        for (index, record) in indices.sorted(by: { $0.key < $1.key }) {
            record.collect(below: path + [IndexKey(index)], into: &paths)
        }
    }
}

extension KeyValueDecoder {
    /// Reads a value as ``decode(_:from:)`` does, and notes in `record` the keys that decoding asked for.
    package func decode<T: Decodable>(_ type: T.Type, from list: PropertyList, recording record: KeyRecord) throws -> T
    {
        try TreeDecodingNode(DecodingContext(self, forTree: true, record: record), list).decodeWhole(type)
    }
}
