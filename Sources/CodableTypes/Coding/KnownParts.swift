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
    /// What the code of a Swift type knows of this stored value.
    ///
    /// - Parameters:
    ///   - form: the value after decoding and encoding it; nil if it does not decode. Then the parts that the type knows
    ///     are known as they are stored.
    ///   - record: the keys that decoding asked for; nil if its names are not those of the file.
    ///   - given: the new value, whose keys encoding mentioned.
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
        for (key, value) in entries {
            let (inner, new) = (form?[key], given?[key])
            let isAsked = record.map { $0.asksAll || $0.asked.contains(.key(key)) } ?? false
            guard inner != nil || new != nil || isAsked else { continue }
            try builder.key(key)
            try value.writeKnown(inner, record?.children[.key(key)], new, to: &builder)
        }
        for (key, value) in form?.entries ?? PropertyList.emptyDictionary.entries where self[key] == nil {
            try builder.key(key)
            try builder.append(value)
        }
        try builder.end()
    }
}
