package import KeyValueCoding
package import PropertyLists

// What a type knows of a stored value: the ancestor of a typed set. Keys that the type does not know are then the other
// side's additions, which a merge keeps.

extension CodableType {
    /// The stored value without the keys that the type does not know.
    func knownParts(of stored: PropertyList) throws(TypeError) -> PropertyList {
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try builder.adding { builder throws(PropertyListError) in try form.writeKnown(stored, to: &builder) }
        return try finish(&builder)
    }
}

extension CodableType.Form {
    /// Recursion is bounded by the depth of the value. A value that is not of the type is known as a whole.
    fileprivate func writeKnown(
        _ stored: PropertyList, to builder: inout PropertyListBuilder
    ) throws(PropertyListError) {
        switch (self, stored.kind) {
        case (.optional(let wrapped), _), (.defaulted(let wrapped, _), _):
            try wrapped.writeKnown(stored, to: &builder)
        case (.reference(let reference), _):
            guard let form = try? reference.resolved() else { return try builder.append(stored) }
            try form.writeKnown(stored, to: &builder)
        case (.array(let element, _), .array):
            try builder.beginArray()
            for value in stored.elements { try element.writeKnown(value, to: &builder) }
            try builder.end()
        case (.dictionary, .dictionary), (.structure, .dictionary), (.variant, .dictionary):
            try builder.beginDictionary()
            for (key, value) in stored.entries {
                guard let inner = part(at: .key(key))?.form else { continue }
                try builder.key(key)
                try inner.writeKnown(value, to: &builder)
            }
            try builder.end()
        case (.swift(let type), _): try builder.append(type.knownParts(of: stored))
        default: try builder.append(stored)
        }
    }
}

extension PropertyList {
    /// Whether the stored value is equal to this one, apart from keys that only the stored value has.
    ///
    /// - Parameter isUnknown: asked about each key that the stored value alone has; false makes the values differ.
    package func isEqual(to stored: PropertyList, besides isUnknown: (PropertyListPath) -> Bool) -> Bool {
        var steps: [PropertyListPath.Step] = []
        return isEqual(to: stored, &steps, isUnknown)
    }

    /// Recursion is bounded by the depth of the values.
    private func isEqual(
        to stored: PropertyList, _ steps: inout [PropertyListPath.Step], _ isUnknown: (PropertyListPath) -> Bool
    ) -> Bool {
        guard kind == stored.kind, kind.isContainer else { return self == stored }
        if kind == .array {
            guard count == stored.count else { return false }
            return zip(elements, stored.elements).enumerated().allSatisfy { index, pair in
                steps.append(.index(index))
                defer { steps.removeLast() }
                return pair.0.isEqual(to: pair.1, &steps, isUnknown)
            }
        }
        for pair in EntryPairs(self, stored) {
            guard let value = pair.right else { return false }
            // Most values are scalars, which need no path.
            if let ours = pair.left, !ours.kind.isContainer {
                guard ours == value else { return false }
                continue
            }
            steps.append(.key(pair.key))
            defer { steps.removeLast() }
            let isSame = pair.left.map { $0.isEqual(to: value, &steps, isUnknown) }
            guard isSame ?? isUnknown(PropertyListPath(steps)) else { return false }
        }
        return true
    }

    /// What the code of a Swift type knows of this stored value.
    ///
    /// - Parameters:
    ///   - form: the value after decoding and encoding it; nil if it does not decode. Then the parts that the type knows
    ///     are known as they are stored.
    ///   - record: the keys that decoding asked for.
    ///   - given: the new value, whose keys are known.
    package func knownParts(
        form: PropertyList?, record: KeyRecord?, given: PropertyList?
    ) throws(PropertyListError) -> PropertyList {
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try writeKnown(form, record, given, to: &builder)
        return try builder.finish()
    }

    /// Recursion is bounded by the depth of the value.
    private func writeKnown(
        _ form: PropertyList?, _ record: KeyRecord?, _ given: PropertyList?, to builder: inout PropertyListBuilder
    ) throws(PropertyListError) {
        // A value of another kind is known as it is stored.
        guard form.map({ $0.kind == kind }) ?? (record != nil || given != nil) else { return try builder.append(self) }
        switch kind {
        case .dictionary: try writeKnownEntries(form, record, given, to: &builder)
        case .array where form.map { $0.count == count } ?? true:
            try builder.beginArray()
            var forms = form?.elements
            for element in elements { try element.writeKnown(forms?.next(), record?.elements, nil, to: &builder) }
            try builder.end()
        default: try builder.append(form ?? self)
        }
    }

    private func writeKnownEntries(
        _ form: PropertyList?, _ record: KeyRecord?, _ given: PropertyList?, to builder: inout PropertyListBuilder
    ) throws(PropertyListError) {
        try builder.beginDictionary()
        for pair in EntryPairs(self, form) {
            let key = pair.key
            if let scalar = pair.right, pair.left.map({ $0.kind == scalar.kind && !$0.kind.isContainer }) ?? true {
                try builder.key(key)
                try builder.append(scalar)
                continue
            }
            guard let value = pair.left else { continue }
            let new = given?[key]
            guard pair.right != nil || new != nil || record?.asks(for: .key(key)) ?? false else { continue }
            try builder.key(key)
            try value.writeKnown(pair.right, record?.children[.key(key)], new, to: &builder)
        }
        try builder.end()
    }
}
