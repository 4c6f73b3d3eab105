package import KeyValueCoding
package import PropertyLists

/// Puts the keys that a Swift type did not ask for back into its encoded value.
package struct KnownKeyMerge {
    /// Old elements of arrays that held unknown keys and were matched by no new one.
    package private(set) var droppedElements = 0

    package init() {}

    /// The value to store: `new`, with the parts of `stored` that the type does not know.
    ///
    /// - Parameters:
    ///   - oldForm: `stored` after decoding and encoding it, by which elements of arrays are matched.
    ///   - known: the keys that decoding `stored` asked for.
    package mutating func merge(
        _ new: PropertyList, over stored: PropertyList, oldForm: PropertyList?, known: KeyRecord
    ) throws(TypeError) -> PropertyList {
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try write(new, over: stored, oldForm, known, to: &builder)
        return try finish(&builder)
    }

    /// Recursion is bounded by the depth of the documents.
    private mutating func write(
        _ new: PropertyList, over stored: PropertyList, _ oldForm: PropertyList?, _ known: KeyRecord?,
        to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        guard let known, new.kind == stored.kind else { return try builder.add(new) }
        switch new.kind {
        case .dictionary: try writeDictionary(new, over: stored, oldForm, known, to: &builder)
        case .array: try writeArray(new, over: stored, oldForm, known.elements, to: &builder)
        default: try builder.add(new)
        }
    }

    private mutating func writeDictionary(
        _ new: PropertyList, over stored: PropertyList, _ oldForm: PropertyList?, _ known: KeyRecord,
        to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        try builder.adding { builder throws(PropertyListError) in try builder.beginDictionary() }
        for (key, value) in new.entries {
            try builder.adding { builder throws(PropertyListError) in try builder.key(key) }
            if let old = stored[key] {
                try write(value, over: old, oldForm?[key], known.children[.key(key)], to: &builder)
            } else {
                try builder.add(value)
            }
        }
        // A key that decoding and encoding bring out again is known, though no coder asked for it by name.
        for (key, old) in stored.entries
        where !known.asksAll && !known.asked.contains(.key(key)) && new[key] == nil && oldForm?[key] == nil {
            try builder.adding { builder throws(PropertyListError) in try builder.key(key) }
            try builder.add(old)
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }

    private mutating func writeArray(
        _ new: PropertyList, over stored: PropertyList, _ oldForm: PropertyList?, _ known: KeyRecord?,
        to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        guard let known, let oldForm, oldForm.kind == .array, oldForm.count == stored.count else {
            return try builder.add(new)
        }
        let old = Array(stored.elements)
        let forms = Array(oldForm.elements)
        // An element has unknown parts where its two forms differ.
        let matching = ArrayMatching(new: Array(new.elements), known: forms) { forms[$0] != old[$0] }
        droppedElements += matching.dropped
        try builder.adding { builder throws(PropertyListError) in try builder.beginArray() }
        for (index, value) in new.elements.enumerated() {
            if let match = matching.sources[index] {
                try write(value, over: old[match], forms[match], known, to: &builder)
            } else {
                try builder.add(value)
            }
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }
}
