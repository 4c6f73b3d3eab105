internal import PropertyLists

/// Puts into a new value the keys of the old one that its type does not know.
///
/// Dictionaries are matched by path. Elements of arrays of the same length are matched by index; else an element that
/// is unchanged is matched with its old self, and the others begin anew.
struct KeyMerge {
    let recorder: KeyRecorder

    /// - Parameter known: what the type makes of the old value, encoded again.
    func merged(_ old: PropertyList, known: PropertyList, _ new: PropertyList) throws -> PropertyList {
        var builder = PropertyListBuilder()
        try append(old, known, new, at: [], to: &builder)
        return try builder.finish()
    }

    /// Recursion is bounded by the depth limit of documents.
    private func append(
        _ old: PropertyList?, _ known: PropertyList?, _ new: PropertyList, at path: [String],
        to builder: inout PropertyListBuilder
    ) throws {
        if let old, old.kind == .dictionary, new.kind == .dictionary, let keys = recorder.keys(at: path) {
            try append(entriesOf: old, known, new, knowing: keys, at: path, to: &builder)
        } else if let old, old.kind == .array, new.kind == .array {
            try append(elementsOf: old, known, new, at: path, to: &builder)
        } else {
            try builder.append(new)
        }
    }

    private func append(
        entriesOf old: PropertyList, _ known: PropertyList?, _ new: PropertyList, knowing keys: Set<String>,
        at path: [String], to builder: inout PropertyListBuilder
    ) throws {
        try builder.beginDictionary()
        for (key, value) in new.entries {
            try builder.key(key)
            try append(old[key], known?[key], value, at: path + [key], to: &builder)
        }
        for (key, value) in old.entries where new[key] == nil && !keys.contains(key) {
            try builder.key(key)
            try builder.append(value)
        }
        try builder.end()
    }

    private func append(
        elementsOf old: PropertyList, _ known: PropertyList?, _ new: PropertyList, at path: [String],
        to builder: inout PropertyListBuilder
    ) throws {
        let oldElements = Array(old.elements)
        let knownElements = Array(known?.elements ?? new.elements)
        let isSameLength = old.count == new.count
        var next = 0
        try builder.beginArray()
        for (index, element) in new.elements.enumerated() {
            var match: Int? = isSameLength ? index : nil
            if !isSameLength, let found = knownElements[min(next, knownElements.count)...].firstIndex(of: element) {
                match = found
                next = found + 1
            }
            if let match, oldElements.indices.contains(match) {
                let inner = knownElements.indices.contains(match) ? knownElements[match] : nil
                try append(oldElements[match], inner, element, at: path + ["Index \(match)"], to: &builder)
            } else {
                try builder.append(element)
            }
        }
        try builder.end()
    }
}
