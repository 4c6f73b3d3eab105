internal import CKVCodable
internal import PropertyLists

extension TypePlan.Node {
    /// The kind whose every value is of the type; nil where it takes more than the kind to tell.
    var plainKind: PropertyListKind? {
        guard !isLimited else { return nil }
        switch shape {
        // One of the strings stands for nil.
        case .string where !isOptional: return .string
        case .real: return .real
        case .boolean: return .boolean
        case .date: return .date
        case .integer where low == .min && high == .max: return .integer
        default: return nil
        }
    }
}

extension TypePlan.View {
    /// Whether a key node of a document is the text.
    @inline(__always)
    func isKey(_ key: kv_node, _ part: TypePlan.Text, _ document: Document) -> Bool {
        guard Int32(truncatingIfNeeded: key.count) == part.count, let key = document.buffer(of: key).baseAddress else {
            return false
        }
        return hasSameBytes(key, text + Int(part.start), Int(part.count))
    }

    func text(_ part: TypePlan.Text) -> String { String(decoding: bytes(part), as: UTF8.self) }

    func text(_ name: kv_node) -> String { String(decoding: bytes(name), as: UTF8.self) }

    /// Whether an enum has a case with the raw text.
    func hasRawText(_ raw: UnsafeBufferPointer<UInt8>, _ type: TypePlan.Node) -> Bool {
        let range = enumerations[Int(type.operand)]
        return search(range) { compareBytes(bytes(rawTexts[$0]), raw) } != nil
    }

    /// Whether an enum has a case with the raw number.
    func hasRawInteger(_ node: kv_node, _ type: TypePlan.Node) -> Bool {
        let number = Int64(bitPattern: node.payload)
        let range = enumerations[Int(type.operand)]
        return search(range) { rawIntegers[$0] < number ? -1 : rawIntegers[$0] > number ? 1 : 0 } != nil
    }

    /// The struct of a case's associated values; nil where the enum has no case of the name.
    func structure(ofCase name: UnsafeBufferPointer<UInt8>, _ type: TypePlan.Node) -> Int? {
        let found = search(variants[Int(type.operand)]) { compareBytes(bytes(cases[$0].key), name) }
        return found.map { Int(cases[$0].structure) }
    }

    @inline(__always)
    private func search(_ range: TypePlan.Range, _ order: (Int) -> Int) -> Int? {
        var (low, high) = (range.first, range.first + range.count)
        while low < high {
            let middle = low + (high - low) / 2
            let found = order(middle)
            if found == 0 { return middle }
            if found < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }
}

extension TypePlan {
    /// The form of a scalar or a raw value, by its type's own rules.
    func form(of value: PropertyList, _ type: Node) throws(TypeError) -> ScalarForm {
        switch type.shape {
        case .strings, .integers: try enumerationTypes[Int(type.operand)].form(of: value)
        default: try scalars[Int(type.operand)].form(of: value)
        }
    }

    /// Checks how many elements an array has.
    @inline(__always)
    func checkLength(_ count: Int, _ type: Node) throws(TypeError) {
        if type.length >= 0 { try CodableTypes.checkLength(count, lengths[Int(type.length)], "elements") }
    }
}

extension Document {
    /// The text of a string or key node.
    func text(of node: kv_node) -> String { String(decoding: buffer(of: node), as: UTF8.self) }

    /// Whether the value stands for nil: null in memory, `"$null"` in files.
    @inline(__always)
    func isNil(_ index: Int) -> Bool {
        let node = nodes[index]
        if node.kind == .null { return true }
        return node.kind == .string && node.count == 5 && buffer(of: node).elementsEqual("$null".utf8)
    }
}

extension PropertyList {
    /// Whether the value stands for nil: null in memory, `"$null"` in files.
    var isNil: Bool { document.isNil(index) }
}

/// Whether two texts of the same length are equal: in words that overlap, since keys are short.
@inline(__always)
private func hasSameBytes(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    let (left, right) = (UnsafeRawPointer(left), UnsafeRawPointer(right))
    func isSame<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: Word.Type) -> Bool {
        left.loadUnaligned(fromByteOffset: offset, as: Word.self)
            == right.loadUnaligned(fromByteOffset: offset, as: Word.self)
    }
    if count >= 8 {
        var offset = 0
        while offset < count &- 8 {
            guard isSame(offset, UInt64.self) else { return false }
            offset &+= 8
        }
        return isSame(count &- 8, UInt64.self)
    }
    if count >= 4 { return isSame(0, UInt32.self) && isSame(count &- 4, UInt32.self) }
    return (0..<count).allSatisfy { isSame($0, UInt8.self) }
}
