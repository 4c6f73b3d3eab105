internal import CKVCodable
internal import PropertyLists

/// From the stored form to the program form.
///
/// Two walks: the first checks everything and finds out whether the two forms differ, making nothing; the second,
/// where they do, builds the program form. Recursion is bounded by the depth of the document.
struct Decoding {
    let document: Document

    func decode(_ stored: PropertyList, as form: CodableType.Form) throws(TypeError) -> PropertyList {
        if case .swift(let type) = form { return try type.decode(stored) }
        if try isSame(stored.index, form) { return stored }
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try write(stored.index, form, to: &builder)
        return try finish(&builder)
    }

    private func value(_ index: Int) -> PropertyList { PropertyList(document: document, index: index) }

    // MARK: - Checking

    /// Checks the value, and says whether its program form is the stored one.
    private func isSame(_ index: Int, _ form: CodableType.Form) throws(TypeError) -> Bool {
        switch form {
        case .scalar(let scalar): return try isSame(index, scalar)
        case .any: return document.nodes[index].kind != .null
        case .array(let element, let length): return try isSameArray(index, element, length)
        case .dictionary(let element): return try isSameDictionary(index, element)
        case .optional(let wrapped): return isNil(index) ? value(index).isNull : try isSame(index, wrapped)
        case .defaulted(let wrapped, _): return try isSame(index, wrapped)
        case .structure(let structure): return try isSameStructure(index, structure)
        case .enumeration(let enumeration):
            guard case .same = try enumeration.form(of: value(index)) else { return false }
            return true
        case .swift(let type): return try type.decode(value(index)) == value(index)
        case .reference(let reference): return try isSame(index, try reference.resolved())
        }
    }

    /// The most frequent scalars are checked on the node alone.
    @inline(__always)
    private func isSame(_ index: Int, _ scalar: ScalarType) throws(TypeError) -> Bool {
        let node = document.nodes[index]
        switch (scalar.kind, node.kind) {
        case (.string, .string) where scalar.length == nil: return true
        case (.int, .integer) where scalar.range == nil: return true
        case (.double, .real) where scalar.range == nil: return true
        case (.bool, .boolean), (.date, .date): return true
        default:
            guard case .same = try scalar.form(of: value(index)) else { return false }
            return true
        }
    }

    private func expect(_ kind: PropertyListKind, _ index: Int) throws(TypeError) {
        guard document.nodes[index].kind != kind else { return }
        throw .mismatch(kind == .array ? "Array<Any>" : "Dictionary<String, Any>", value(index))
    }

    private func isSameArray(
        _ index: Int, _ element: CodableType.Form, _ length: ClosedRange<Int>?
    ) throws(TypeError) -> Bool {
        try expect(.array, index)
        let count = Int(document.nodes[index].count)
        if let length { try checkLength(count, length, "elements") }
        var position = index + 1
        var isAllSame = true
        for number in 0..<count {
            do throws(TypeError) {
                if !(try isSame(position, element)) { isAllSame = false }
            } catch {
                throw error.placed(at: .index(number))
            }
            position += document.nodes[position].span
        }
        return isAllSame
    }

    private func isSameDictionary(_ index: Int, _ element: CodableType.Form) throws(TypeError) -> Bool {
        try expect(.dictionary, index)
        var isAllSame = true
        for slot in document.keys(ofDictionaryAt: index) {
            let key = document.nodes[slot]
            do throws(TypeError) {
                if !(try isSame(index + key.distance, element)) { isAllSame = false }
            } catch {
                throw error.placed(at: .key(String(decoding: document.buffer(of: key), as: UTF8.self)))
            }
        }
        return isAllSame
    }

    /// In the order of declaration, so that of several faults the one is told that Swift would tell.
    private func isSameStructure(_ index: Int, _ structure: StructureType) throws(TypeError) -> Bool {
        try expect(.dictionary, index)
        var known = 0
        var isAllSame = structure.keepsNames
        for field in structure.fields where !field.isTransient {
            let found = value(index)[field.key]
            guard let found, !(field.isOptional && isNil(found.index)) else {
                if !field.mayBeAbsent { throw .missingField(field.key) }
                if field.defaultValue != nil || found != nil { isAllSame = false }
                continue
            }
            known += 1
            do throws(TypeError) {
                if !(try isSame(found.index, field.type)) { isAllSame = false }
            } catch {
                throw error.placed(at: .key(field.key))
            }
        }
        return isAllSame && known == Int(document.nodes[index].count)
    }

    /// Whether the value stands for nil: null in memory, `"$null"` in files.
    private func isNil(_ index: Int) -> Bool { document.isNil(index) }

    // MARK: - Building: only of what was checked

    private func write(
        _ index: Int, _ form: CodableType.Form, to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        switch form {
        case .scalar(let scalar): try builder.add(try scalar.form(of: value(index)), of: value(index))
        case .any: try builder.add(.same, of: value(index))
        case .array(let element, _): try writeArray(index, element, to: &builder)
        case .dictionary(let element): try writeDictionary(index, element, to: &builder)
        case .optional(let wrapped):
            if isNil(index) {
                try builder.adding { builder throws(PropertyListError) in try builder.appendNull() }
            } else {
                try write(index, wrapped, to: &builder)
            }
        case .defaulted(let wrapped, _): try write(index, wrapped, to: &builder)
        case .structure(let structure): try writeStructure(index, structure, to: &builder)
        case .enumeration(let enumeration): try builder.add(try enumeration.form(of: value(index)), of: value(index))
        case .swift(let type): try builder.add(.same, of: try type.decode(value(index)))
        case .reference(let reference): try write(index, try reference.resolved(), to: &builder)
        }
    }

    private func writeArray(
        _ index: Int, _ element: CodableType.Form, to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        try builder.adding { builder throws(PropertyListError) in try builder.beginArray() }
        var position = index + 1
        for _ in 0..<document.nodes[index].count {
            try write(position, element, to: &builder)
            position += document.nodes[position].span
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }

    private func writeDictionary(
        _ index: Int, _ element: CodableType.Form, to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        try builder.adding { builder throws(PropertyListError) in try builder.beginDictionary() }
        for slot in document.keys(ofDictionaryAt: index) {
            let key = document.nodes[slot]
            try builder.add(key: document.buffer(of: key))
            try write(index + key.distance, element, to: &builder)
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }

    private func writeStructure(
        _ index: Int, _ structure: StructureType, to builder: inout PropertyListBuilder
    ) throws(TypeError) {
        try builder.adding { builder throws(PropertyListError) in try builder.beginDictionary() }
        for field in structure.fields {
            let found = field.isTransient ? nil : value(index)[field.key]
            if let found, !(field.isOptional && isNil(found.index)) {
                try builder.adding { builder throws(PropertyListError) in try builder.key(field.name) }
                try write(found.index, field.type, to: &builder)
            } else if let value = field.defaultValue {
                try builder.adding { builder throws(PropertyListError) in try builder.key(field.name) }
                try builder.add(.same, of: value)
            }
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }
}

extension Document {
    /// Whether the value stands for nil: null in memory, `"$null"` in files.
    func isNil(_ index: Int) -> Bool {
        let node = nodes[index]
        if node.kind == .null { return true }
        return node.kind == .string && node.count == 5 && buffer(of: node).elementsEqual("$null".utf8)
    }
}
