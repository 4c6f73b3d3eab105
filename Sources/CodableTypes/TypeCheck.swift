internal import CKVCodable
internal import PropertyLists

/// One run of a ``TypeProgram`` over a value.
///
/// The pointers are lent by ``TypeProgram/accepts(_:)`` for the time of the run. They stay within their tables because
/// the compiler made the rules' numbers, and because a document's spans and distances are known to hold.
struct TypeCheck {
    let nodes: UnsafePointer<kv_node>
    let bytes: UnsafePointer<UInt8>
    let rules: UnsafePointer<TypeProgram.Rule>
    let fields: UnsafeBufferPointer<TypeProgram.Field>
    let names: UnsafeBufferPointer<UInt8>

    func accepts(_ index: Int, _ number: Int32, depth: Int) -> Bool {
        let rule = rules[Int(number)]
        let node = nodes[index]
        switch rule.operation {
        case .kind: return node.kind == rule.kind
        case .integer: return node.kind == .integer && isWithin(Int64(bitPattern: node.payload), rule)
        case .unsigned: return node.kind == .unsigned || node.kind == .integer && node.payload <= UInt64(Int64.max)
        case .real: return node.kind == .real && isWithin(Double(bitPattern: node.payload), rule)
        case .string: return node.kind == .string
        case .data: return node.kind == .data && isWithin(Int64(node.count), rule)
        case .any: return isAny(index)
        case .array: return acceptsArray(index, rule, depth: depth)
        case .dictionary: return acceptsDictionary(index, rule, depth: depth)
        case .optional: return !isNil(node) && accepts(index, rule.part, depth: depth)
        case .structure: return acceptsStructure(index, rule, depth: depth)
        case .enumeration: return acceptsCase(node, rule)
        case .other: return false
        }
    }

    @inline(__always) private func isWithin(_ number: Int64, _ rule: TypeProgram.Rule) -> Bool {
        number >= rule.low && number <= rule.high
    }

    @inline(__always) private func isWithin(_ number: Double, _ rule: TypeProgram.Rule) -> Bool {
        guard rule.count == 1 else { return true }
        return number >= Double(bitPattern: UInt64(bitPattern: rule.low))
            && number <= Double(bitPattern: UInt64(bitPattern: rule.high))
    }

    private func isAny(_ index: Int) -> Bool {
        for position in index..<(index &+ nodes[index].span) where nodes[position].head == 0 { return false }
        return true
    }

    @inline(__always) private func isNil(_ node: kv_node) -> Bool {
        guard node.kind == .string, node.count == 5 else { return node.kind == .null }
        return UnsafeBufferPointer(start: bytes + Int(node.payload), count: 5).elementsEqual("$null".utf8)
    }

    private func acceptsArray(_ index: Int, _ rule: TypeProgram.Rule, depth: Int) -> Bool {
        let node = nodes[index]
        guard node.kind == .array, isWithin(Int64(node.count), rule), depth < TypeDepth.maximum else { return false }
        var position = index &+ 1
        for _ in 0..<node.count {
            guard accepts(position, rule.part, depth: depth &+ 1) else { return false }
            position = position &+ nodes[position].span
        }
        return true
    }

    private func acceptsDictionary(_ index: Int, _ rule: TypeProgram.Rule, depth: Int) -> Bool {
        let node = nodes[index]
        guard node.kind == .dictionary, depth < TypeDepth.maximum else { return false }
        let end = index &+ node.span
        for slot in (end &- Int(node.count))..<end {
            guard accepts(index &+ nodes[slot].distance, rule.part, depth: depth &+ 1) else { return false }
        }
        return true
    }

    /// Keys and fields are in the same order, so that one pass over both is enough.
    private func acceptsStructure(_ index: Int, _ rule: TypeProgram.Rule, depth: Int) -> Bool {
        let node = nodes[index]
        guard node.kind == .dictionary, depth < TypeDepth.maximum else { return false }
        let end = index &+ node.span
        var slot = end &- Int(node.count)
        for number in Int(rule.part)..<Int(rule.part &+ rule.count) {
            let field = fields[number]
            guard slot < end, isNamed(nodes[slot], field) else {
                if field.mayBeAbsent { continue }
                return false
            }
            let place = index &+ nodes[slot].distance
            if field.isOptional, isNil(nodes[place]) { return false }
            guard accepts(place, field.rule, depth: depth &+ 1) else { return false }
            slot = slot &+ 1
        }
        return slot == end
    }

    @inline(__always) private func isNamed(_ key: kv_node, _ field: TypeProgram.Field) -> Bool {
        guard Int32(truncatingIfNeeded: key.count) == field.nameCount else { return false }
        let text = bytes + Int(truncatingIfNeeded: key.payload)
        for offset in 0..<Int(field.nameCount) where text[offset] != names[Int(field.nameStart) &+ offset] {
            return false
        }
        return true
    }

    private func acceptsCase(_ node: kv_node, _ rule: TypeProgram.Rule) -> Bool {
        guard node.kind == .string else { return false }
        for number in Int(rule.part)..<Int(rule.part &+ rule.count) where isNamed(node, fields[number]) { return true }
        return false
    }
}
