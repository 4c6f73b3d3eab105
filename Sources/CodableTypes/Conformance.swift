internal import CKVCodable
internal import PropertyLists

/// Finds out whether a value is already in the form that decoding or encoding would give it, without making anything.
///
/// It answers no where it does not know: the walks of ``Decoding`` and ``Encoding`` then find out what has to change, or
/// what is wrong. Recursion is bounded by ``TypeLimits``.
///
/// The pointers are those of a plan's tables and of a document, both of which the caller keeps alive; every index into
/// the plan was made by its compiler, every index into the document comes from a validated layout.
struct Conformance {
    enum Direction {
        case decoding
        /// Over a stored value, or over none.
        case encoding(over: PropertyList?)
    }

    private let types: UnsafePointer<TypePlan.Node>
    private let fields: UnsafePointer<TypePlan.Field>
    private let text: UnsafePointer<UInt8>
    private let plan: TypePlan
    private let nodes: UnsafePointer<kv_node>
    private let bytes: UnsafePointer<UInt8>
    private let document: Document
    private let isEncoding: Bool
    /// What is stored now.
    private let stored: PropertyList?

    /// Whether `list` needs no change.
    static func isUnchanged(_ list: PropertyList, _ plan: TypePlan, _ direction: Direction) -> Bool {
        walk(list, plan, direction) { $0.holds(plan.root, list.index, over: $0.stored?.index ?? -1, depth: 0) }
    }

    /// Whether the stored value holds nothing that the type does not know, so that nothing has to be kept.
    static func isKnown(_ stored: PropertyList, _ plan: TypePlan) -> Bool {
        walk(stored, plan, .decoding) { $0.knows(plan.root, stored.index, depth: 0) }
    }

    private static func walk(
        _ list: PropertyList, _ plan: TypePlan, _ direction: Direction, _ body: (borrowing Conformance) -> Bool
    ) -> Bool {
        plan.tables.nodes.withUnsafeBufferPointer { types in
            plan.tables.fields.withUnsafeBufferPointer { fields in
                plan.tables.text.withUnsafeBufferPointer { text in
                    guard let types = types.baseAddress else { return false }
                    // Empty tables have no address, and are never read.
                    let noFields = UnsafePointer<TypePlan.Field>(bitPattern: 8).unsafelyUnwrapped
                    let check = Conformance(
                        types: types, fields: fields.baseAddress ?? noFields,
                        text: text.baseAddress ?? list.document.bytes,
                        plan: plan, list.document, direction)
                    return withExtendedLifetime(list.document) { body(check) }
                }
            }
        }
    }

    private init(
        types: UnsafePointer<TypePlan.Node>, fields: UnsafePointer<TypePlan.Field>, text: UnsafePointer<UInt8>,
        plan: TypePlan, _ document: Document, _ direction: Direction
    ) {
        self.types = types
        self.fields = fields
        self.text = text
        self.plan = plan
        self.document = document
        nodes = document.nodes
        bytes = document.bytes
        switch direction {
        case .decoding: (isEncoding, stored) = (false, nil)
        case .encoding(let stored): (isEncoding, self.stored) = (true, stored)
        }
    }

    // MARK: - Whether a value needs no change

    /// - Parameter old: the node of the stored value that stands in the same place; -1 for none.
    private borrowing func holds(_ typeIndex: Int, _ index: Int, over old: Int, depth: Int) -> Bool {
        let type = types[typeIndex]
        let node = nodes[index]
        if depth > TypeLimits.depth { return false }
        if type.isOptional, node.kind == .string, node.count == 5, document.isNil(index) { return false }
        switch type.shape {
        case .string: return node.kind == .string && (!type.isLimited || hasLength(index, type))
        case .integer: return node.kind == .integer && holds(Int64(bitPattern: node.payload), type)
        case .real: return node.kind == .real && (!type.isLimited || holds(Double(bitPattern: node.payload), type))
        case .boolean: return node.kind == .boolean
        case .date: return node.kind == .date
        case .data: return node.kind == .data && (!type.isLimited || holds(Int64(node.count), type))
        case .uid: return node.kind == .uid
        case .any: return node.kind != .null
        case .structure:
            return node.kind == .dictionary && holdsStructure(type.operand, index, over: old, depth: depth &+ 1)
        case .array: return node.kind == .array && holdsArray(type, index, over: old, depth: depth &+ 1)
        case .dictionary: return node.kind == .dictionary && holdsDictionary(type, index, over: old, depth: depth &+ 1)
        case .strings: return node.kind == .string && isRawText(node, type.operand)
        case .integers: return node.kind == .integer && isRawInteger(node, type.operand)
        case .other: return false
        }
    }

    @inline(__always)
    private borrowing func holds(_ number: Int64, _ type: TypePlan.Node) -> Bool {
        number >= type.low && number <= type.high
    }

    @inline(__always)
    private borrowing func holds(_ number: Double, _ type: TypePlan.Node) -> Bool {
        number >= type.lowReal && number <= type.highReal
    }

    private borrowing func hasLength(_ index: Int, _ type: TypePlan.Node) -> Bool {
        // A byte that continues no sequence begins a character.
        let count = document.buffer(of: nodes[index]).count { $0 & 0xC0 != 0x80 }
        return holds(Int64(count), type)
    }

    private borrowing func holdsArray(_ type: TypePlan.Node, _ index: Int, over old: Int, depth: Int) -> Bool {
        let count = Int(nodes[index].count)
        if type.isLimited, !holds(Int64(count), type) { return false }
        if let isUniform = holdsScalars(type.operand, index, count) { return isUniform }
        var position = index &+ 1
        var place = oldContainer(old, .array, count) &+ 1
        for _ in 0..<count {
            guard holds(type.operand, position, over: place > 0 ? place : -1, depth: depth) else { return false }
            position &+= nodes[position].span
            if place > 0, let stored { place &+= stored.document.nodes[place].span }
        }
        return true
    }

    /// The stored container, if it is of the kind and has as many parts; else -1.
    private borrowing func oldContainer(_ old: Int, _ kind: PropertyListKind, _ count: Int) -> Int {
        guard old >= 0, let stored else { return -1 }
        let node = stored.document.nodes[old]
        return node.kind == kind && Int(node.count) == count ? old : -1
    }

    /// Arrays of plain scalars, where a look at each kind says it all; nil for other arrays.
    private borrowing func holdsScalars(_ element: Int, _ index: Int, _ count: Int) -> Bool? {
        let type = types[element]
        guard !type.isOptional, !type.isLimited else { return nil }
        let kind: PropertyListKind
        switch type.shape {
        case .string: kind = .string
        case .real: kind = .real
        case .boolean: kind = .boolean
        case .integer where type.low == .min && type.high == .max: kind = .integer
        default: return nil
        }
        for position in (index &+ 1)..<(index &+ 1 &+ count) where nodes[position].head != kind.rawValue {
            return false
        }
        return true
    }

    private borrowing func holdsDictionary(_ type: TypePlan.Node, _ index: Int, over old: Int, depth: Int) -> Bool {
        for slot in document.keys(ofDictionaryAt: index) {
            let place = type.keepsUnknown ? oldValue(old, document.buffer(of: nodes[slot])) : -1
            guard holds(type.operand, index &+ nodes[slot].distance, over: place, depth: depth) else { return false }
        }
        return true
    }

    /// The node of the stored dictionary's value for the key; -1 where there is none.
    private borrowing func oldValue(_ old: Int, _ key: UnsafeBufferPointer<UInt8>) -> Int {
        guard old >= 0, let stored, stored.document.nodes[old].kind == .dictionary else { return -1 }
        let (slot, found) = stored.document.search(key, inDictionaryAt: old)
        return found ? old &+ stored.document.nodes[slot].distance : -1
    }

    /// Keys and fields are both in the order of their bytes: one pass over the two. A key that is no field's ends it.
    private borrowing func holdsStructure(_ structureIndex: Int, _ index: Int, over old: Int, depth: Int) -> Bool {
        let structure = plan.tables.structures[structureIndex]
        guard structure.isPlain else { return false }
        let keys = document.keys(ofDictionaryAt: index)
        var slot = keys.lowerBound
        for fieldIndex in structure.first..<(structure.first &+ structure.count) {
            let field = fields[fieldIndex]
            guard slot < keys.upperBound, isKey(nodes[slot], of: field) else {
                guard mayLack(field, over: old) else { return false }
                continue
            }
            let value = index &+ nodes[slot].distance
            // Only a struct inside, and a field with a default, look at what is stored.
            let needsOld = old >= 0 && (field.defaultIndex >= 0 || types[Int(field.node)].keepsUnknown)
            let place = needsOld ? oldValue(old, key(of: field)) : -1
            guard holds(Int(field.node), value, over: place, depth: depth) else { return false }
            if place < 0, isDefault(value, field) { return false }
            slot &+= 1
        }
        return slot == keys.upperBound
    }

    private borrowing func key(of field: TypePlan.Field) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: text + Int(field.keyStart), count: Int(field.keyCount))
    }

    @inline(__always)
    private borrowing func isKey(_ key: kv_node, of field: TypePlan.Field) -> Bool {
        guard Int32(truncatingIfNeeded: key.count) == field.keyCount else { return false }
        let left = bytes + Int(truncatingIfNeeded: key.payload)
        let right = text + Int(field.keyStart)
        var offset = 0
        let count = Int(field.keyCount)
        while offset < count {
            if left[offset] != right[offset] { return false }
            offset &+= 1
        }
        return true
    }

    /// Whether nothing is to be filled in or written where the field is absent.
    private borrowing func mayLack(_ field: TypePlan.Field, over old: Int) -> Bool {
        guard field.defaultIndex >= 0 else { return field.isOptional }
        return isEncoding && oldValue(old, key(of: field)) < 0
    }

    /// Whether encoding might leave the field out, since its value is the default.
    private borrowing func isDefault(_ index: Int, _ field: TypePlan.Field) -> Bool {
        guard isEncoding, field.defaultIndex >= 0 else { return false }
        return plan.tables.defaults[Int(field.defaultIndex)] == PropertyList(document: document, index: index)
    }

    private borrowing func isRawText(_ node: kv_node, _ operand: Int) -> Bool {
        let enumeration = plan.tables.enumerations[operand]
        let raw = document.buffer(of: node)
        for index in enumeration.first..<(enumeration.first + enumeration.count) {
            let one = plan.tables.rawTexts[index]
            let other = UnsafeBufferPointer(start: text + one.start, count: one.count)
            if one.count == raw.count, compareBytes(other, raw) == 0 { return true }
        }
        return false
    }

    private borrowing func isRawInteger(_ node: kv_node, _ operand: Int) -> Bool {
        let enumeration = plan.tables.enumerations[operand]
        let number = Int64(bitPattern: node.payload)
        return plan.tables.rawIntegers[enumeration.first..<(enumeration.first + enumeration.count)].contains(number)
    }

    // MARK: - Whether a stored value holds nothing unknown

    private borrowing func knows(_ typeIndex: Int, _ index: Int, depth: Int) -> Bool {
        let type = types[typeIndex]
        guard type.keepsUnknown else { return true }
        if depth > TypeLimits.depth { return false }
        switch (type.shape, nodes[index].kind) {
        case (.other, _): return false
        case (.structure, .dictionary): return knowsStructure(type.operand, index, depth: depth &+ 1)
        case (.array, .array):
            var position = index &+ 1
            for _ in 0..<nodes[index].count {
                guard knows(type.operand, position, depth: depth &+ 1) else { return false }
                position &+= nodes[position].span
            }
            return true
        case (.dictionary, .dictionary):
            return document.keys(ofDictionaryAt: index).allSatisfy {
                knows(type.operand, index &+ nodes[$0].distance, depth: depth &+ 1)
            }
        default: return true
        }
    }

    private borrowing func knowsStructure(_ structureIndex: Int, _ index: Int, depth: Int) -> Bool {
        let structure = plan.tables.structures[structureIndex]
        let keys = document.keys(ofDictionaryAt: index)
        var slot = keys.lowerBound
        for fieldIndex in structure.first..<(structure.first &+ structure.count) where slot < keys.upperBound {
            let field = fields[fieldIndex]
            guard isKey(nodes[slot], of: field) else { continue }
            guard knows(Int(field.node), index &+ nodes[slot].distance, depth: depth) else { return false }
            slot &+= 1
        }
        return slot == keys.upperBound
    }
}
