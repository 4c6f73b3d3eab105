internal import CKVCodable
internal import PropertyLists

/// From the program form to the stored form, over what is stored now.
///
/// The same two walks as in ``Decoding``: the first checks the value and finds out whether its stored form is the value
/// itself; the second builds it. Recursion is bounded by the depth of the document.
struct Encoding {
    var droppedElements = 0

    mutating func encode(
        _ value: PropertyList, over stored: PropertyList?, as form: CodableType.Form
    ) throws(TypeError) -> PropertyList {
        if case .swift(let type) = form {
            let encoded = try type.encode(value, over: stored)
            droppedElements = encoded.droppedElements
            return encoded.list
        }
        if try isSame(value, over: stored, form) { return value }
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try write(value, over: stored, form, to: &builder)
        return try finish(&builder)
    }

    // MARK: - Checking

    /// Checks the value, and says whether its stored form is the value itself.
    private func isSame(
        _ value: PropertyList, over stored: PropertyList?, _ form: CodableType.Form
    ) throws(TypeError) -> Bool {
        switch form {
        case .scalar(let scalar):
            guard case .same = try scalar.form(of: value) else { return false }
            return true
        case .any:
            if value.isNull { throw .mismatch("Any", value) }
            return true
        case .array(let element, let length): return try isSameArray(value, over: stored, element, length)
        case .dictionary(let element): return try isSameDictionary(value, over: stored, element)
        case .optional(let wrapped):
            return value.document.isNil(value.index) ? !value.isNull : try isSame(value, over: stored, wrapped)
        case .defaulted(let wrapped, _): return try isSame(value, over: stored, wrapped)
        case .structure(let structure): return try isSameStructure(value, over: stored, structure)
        case .enumeration(let enumeration):
            guard case .same = try enumeration.form(of: value) else { return false }
            return true
        case .swift(let type):
            _ = try type.encode(value, over: nil)
            return false
        case .reference(let reference): return try isSame(value, over: stored, try reference.resolved())
        }
    }

    private func isSameArray(
        _ value: PropertyList, over stored: PropertyList?, _ element: CodableType.Form, _ length: ClosedRange<Int>?
    ) throws(TypeError) -> Bool {
        // An empty table of Lua is a dictionary, as long as nothing says that it is an array.
        if value.kind == .dictionary, value.count == 0 { return false }
        guard value.kind == .array else { throw .mismatch("Array<Any>", value) }
        if let length { try checkLength(value.count, length, "elements") }
        // Elements that keep something of their own have to be matched: that is the second walk's work.
        var isAllSame = stored?.kind != .array || !element.keepsUnknown
        for (index, inner) in value.elements.enumerated() {
            do throws(TypeError) {
                if !(try isSame(inner, over: nil, element)) { isAllSame = false }
            } catch {
                throw error.placed(at: .index(index))
            }
        }
        return isAllSame
    }

    private func isSameDictionary(
        _ value: PropertyList, over stored: PropertyList?, _ element: CodableType.Form
    ) throws(TypeError) -> Bool {
        guard value.kind == .dictionary else { throw .mismatch("Dictionary<String, Any>", value) }
        var isAllSame = true
        let keepsUnknown = element.keepsUnknown
        for (key, inner) in value.entries {
            do throws(TypeError) {
                if !(try isSame(inner, over: keepsUnknown ? stored?[key] : nil, element)) { isAllSame = false }
            } catch {
                throw error.placed(at: .key(key))
            }
        }
        return isAllSame
    }

    private func isSameStructure(
        _ value: PropertyList, over stored: PropertyList?, _ structure: StructureType
    ) throws(TypeError) -> Bool {
        guard value.kind == .dictionary else { throw .mismatch("Dictionary<String, Any>", value) }
        var known = 0
        var isAllSame = structure.keepsNames
        for field in structure.fields {
            let given = value[field.name]
            if given != nil { known += 1 }
            if field.isTransient { continue }
            guard let inner = given, !(field.isOptional && inner.document.isNil(inner.index)) else {
                if !field.mayBeAbsent {
                    try checkNames(of: value, structure)
                    throw .missingField(field.name)
                }
                if given != nil || stored?[field.key] != nil { isAllSame = false }
                continue
            }
            let old = stored?[field.key]
            do throws(TypeError) {
                if !(try isSame(inner, over: old, field.type)) { isAllSame = false }
            } catch {
                throw error.placed(at: .key(field.name))
            }
            if old == nil, let defaultValue = field.defaultValue, inner.means(defaultValue) { isAllSame = false }
        }
        if known < value.count { try checkNames(of: value, structure) }
        return isAllSame && !hasUnknown(stored, structure)
    }

    /// A key that no field has is a misspelling, or would be lost.
    private func checkNames(of value: PropertyList, _ structure: StructureType) throws(TypeError) {
        guard let given = value.keys.first(where: { structure.field(named: $0) == nil }) else { return }
        let meant = closest(to: given, among: structure.fields.map(\.name)).map { "; did you mean \($0)?" }
        throw TypeError(.unknownField, structure.name, " has no field \(given)" + (meant ?? ""))
    }

    /// Whether the stored dictionary has keys that the struct does not know.
    private func hasUnknown(_ stored: PropertyList?, _ structure: StructureType) -> Bool {
        guard let stored, stored.kind == .dictionary else { return false }
        var known = 0
        for (_, key) in structure.stored {
            if key.withUnsafeBufferPointer({ stored[utf8: $0] }) != nil { known += 1 }
        }
        return known < stored.count
    }

    // MARK: - Building: only of what was checked

    private mutating func write(
        _ value: PropertyList, over stored: PropertyList?, _ form: CodableType.Form,
        to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        switch form {
        case .scalar(let scalar): try builder.add(try scalar.form(of: value), of: value)
        case .any: try builder.add(.same, of: value)
        case .array(let element, _): try writeArray(value, over: stored, element, to: &builder)
        case .dictionary(let element): try writeDictionary(value, over: stored, element, to: &builder)
        case .optional(let wrapped):
            if value.document.isNil(value.index) {
                try builder.add(.string("$null"), of: value)
            } else {
                try write(value, over: stored, wrapped, to: &builder)
            }
        case .defaulted(let wrapped, _): try write(value, over: stored, wrapped, to: &builder)
        case .structure(let structure): try writeStructure(value, over: stored, structure, to: &builder)
        case .enumeration(let enumeration): try builder.add(try enumeration.form(of: value), of: value)
        case .swift(let type):
            let encoded = try type.encode(value, over: stored)
            droppedElements += encoded.droppedElements
            try builder.add(.same, of: encoded.list)
        case .reference(let reference): try write(value, over: stored, try reference.resolved(), to: &builder)
        }
    }

    private mutating func writeArray(
        _ value: PropertyList, over stored: PropertyList?, _ element: CodableType.Form,
        to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        var matches: [PropertyList?] = []
        if let stored, stored.kind == .array, element.keepsUnknown {
            let matching = ArrayMatching(old: Array(stored.elements), new: Array(value.elements), element)
            matches = matching.matches
            droppedElements += matching.dropped
        }
        try builder.adding { builder throws(PropertyListError) in try builder.beginArray() }
        for (index, inner) in value.elements.enumerated() {
            try write(inner, over: index < matches.count ? matches[index] : nil, element, to: &builder)
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }

    private mutating func writeDictionary(
        _ value: PropertyList, over stored: PropertyList?, _ element: CodableType.Form,
        to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        try builder.adding { builder throws(PropertyListError) in try builder.beginDictionary() }
        for (key, inner) in value.entries {
            try builder.adding { builder throws(PropertyListError) in try builder.key(key) }
            try write(inner, over: stored?[key], element, to: &builder)
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }

    private mutating func writeStructure(
        _ value: PropertyList, over stored: PropertyList?, _ structure: StructureType,
        to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        try builder.adding { builder throws(PropertyListError) in try builder.beginDictionary() }
        for (field, _) in structure.stored {
            guard let inner = try storedValue(of: field, in: value, over: stored) else { continue }
            try builder.adding { builder throws(PropertyListError) in try builder.key(field.key) }
            try write(inner, over: stored?[field.key], field.type, to: &builder)
        }
        if let stored, stored.kind == .dictionary {
            for (key, old) in stored.entries where !structure.stores(key) {
                try builder.adding { builder throws(PropertyListError) in try builder.key(key) }
                try builder.add(.same, of: old)
            }
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }

    /// The value to write for a field, in program form; nil where its key is left out. A default is written only where
    /// the stored dictionary has the key.
    private func storedValue(
        of field: StructureType.Field, in value: PropertyList, over stored: PropertyList?
    ) throws(TypeError) -> PropertyList? {
        var given = value[field.name]
        if let found = given, field.isOptional, found.document.isNil(found.index) { given = nil }
        guard let given else { return stored?[field.key] == nil ? nil : field.defaultValue }
        if stored?[field.key] == nil, let defaultValue = field.defaultValue, given.means(defaultValue) { return nil }
        return given
    }
}

extension PropertyList {
    /// Whether this is `other`, or an empty table of Lua where `other` is an empty array.
    fileprivate func means(_ other: PropertyList) -> Bool {
        self == other || (kind == .dictionary && other.kind == .array && count == 0 && other.count == 0)
    }
}

extension CodableType.Form {
    /// Whether a stored value of the type may hold what the type does not know, or what decides what is written.
    var keepsUnknown: Bool {
        switch self {
        case .scalar, .any, .enumeration: false
        case .array(let inner, _), .dictionary(let inner), .optional(let inner), .defaulted(let inner, _):
            inner.keepsUnknown
        case .structure, .swift, .reference: true
        }
    }
}
