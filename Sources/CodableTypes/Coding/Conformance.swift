internal import CKVCodable
internal import PropertyLists

/// Finds out whether a value is already in the form that decoding or encoding would give it, without making anything.
///
/// It answers no where it does not know: ``PlanDecoding`` and ``PlanEncoding`` then make what is to be made, or find
/// that something is wrong. Recursion is bounded by ``TypeLimits``.
///
/// The pointers, and the references that are not counted, are those of a plan and of documents, which the functions
/// that begin the walk keep alive until its end; every index into the plan was made by its compiler, every index into a
/// document comes from a validated layout.
struct Conformance: ~Copyable {
    private let types: UnsafePointer<TypePlan.Node>
    private let plan: TypePlan.View
    private let owner: Unmanaged<TypePlan>
    private let nodes: UnsafePointer<kv_node>
    private let document: DocumentView
    private let isEncoding: Bool
    /// What is stored now; where nothing is, any document: no place in it is named then.
    private let stored: DocumentView

    /// Whether `list`, as it is stored, is its own program form.
    static func isUnchanged(_ list: PropertyList, _ plan: TypePlan) -> Bool {
        defer {
            withExtendedLifetime(plan) {}
            withExtendedLifetime(list) {}
        }
        let check = Conformance(plan, list.document, isEncoding: false, over: list.document)
        return check.holds(plan.root, list.index, over: -1, depth: 0)
    }

    /// Whether `list`, in program form, needs no change to be stored over what is stored now, if anything is.
    static func isStorable(_ list: PropertyList, over stored: PropertyList?, _ plan: TypePlan) -> Bool {
        defer {
            withExtendedLifetime(plan) {}
            withExtendedLifetime(list) {}
            withExtendedLifetime(stored) {}
        }
        let check = Conformance(plan, list.document, isEncoding: true, over: stored?.document ?? list.document)
        return check.holds(plan.root, list.index, over: stored?.index ?? -1, depth: 0)
    }

    /// Whether the stored value holds nothing that the type does not know, so that nothing has to be kept.
    static func isKnown(_ stored: PropertyList, _ plan: TypePlan) -> Bool {
        isKnown(stored, plan, as: plan.root)
    }

    static func isKnown(_ stored: PropertyList, _ plan: TypePlan, as type: Int) -> Bool {
        defer {
            withExtendedLifetime(plan) {}
            withExtendedLifetime(stored) {}
        }
        let check = Conformance(plan, stored.document, isEncoding: false, over: stored.document)
        return check.knows(type, stored.index, depth: 0)
    }

    private init(_ plan: TypePlan, _ document: Document, isEncoding: Bool, over stored: Document) {
        self.plan = plan.view
        owner = Unmanaged.passUnretained(plan)
        self.document = DocumentView(document)
        types = plan.view.nodes
        nodes = document.nodes
        self.isEncoding = isEncoding
        self.stored = DocumentView(stored)
    }

    // MARK: - Whether a value needs no change

    /// - Parameters:
    ///   - old: the node of the stored value that stands in the same place; -1 for none.
    ///   - depth: how many containers the value is in.
    private borrowing func holds(_ typeIndex: Int, _ index: Int, over old: Int, depth: Int) -> Bool {
        let type = types + typeIndex
        let node = nodes[index]
        if node.head == type.pointee.plainHead { return true }
        if type.pointee.isOptional, node.kind == .string, node.count == 5, document.isNil(index) { return false }
        switch type.pointee.shape {
        case .string: return node.kind == .string && (!type.pointee.isLimited || hasLength(index, type.pointee))
        case .integer: return node.kind == .integer && type.pointee.allows(Int64(bitPattern: node.payload))
        case .real:
            return node.kind == .real
                && (!type.pointee.isLimited || holds(Double(bitPattern: node.payload), type.pointee))
        case .boolean: return node.kind == .boolean
        case .date: return node.kind == .date
        case .data: return node.kind == .data && (!type.pointee.isLimited || type.pointee.allows(Int64(node.count)))
        case .uid: return node.kind == .uid
        case .any: return node.kind != .null && document.fits(index, below: depth)
        case .strings: return node.kind == .string && plan.hasRawText(document.buffer(of: node), type.pointee)
        case .integers: return node.kind == .integer && plan.hasRawInteger(node, type.pointee)
        case .structure, .array, .dictionary, .variant:
            return depth < TypeLimits.depth && holdsContainer(type.pointee, index, over: old, depth: depth &+ 1)
        case .scalar, .swift: return false
        }
    }

    private borrowing func holdsContainer(_ type: TypePlan.Node, _ index: Int, over old: Int, depth: Int) -> Bool {
        let kind = nodes[index].kind
        guard type.shape != .array else { return kind == .array && holdsArray(type, index, over: old, depth: depth) }
        guard kind == .dictionary else { return false }
        switch type.shape {
        case .structure: return holdsStructure(Int(type.operand), index, over: old, depth: depth)
        case .dictionary: return holdsDictionary(type, index, over: old, depth: depth)
        default: return holdsVariant(type, index, over: old, depth: depth)
        }
    }

    @inline(__always)
    private borrowing func holds(_ number: Double, _ type: TypePlan.Node) -> Bool {
        number >= type.lowReal && number <= type.highReal
    }

    private borrowing func hasLength(_ index: Int, _ type: TypePlan.Node) -> Bool {
        // A byte that continues no sequence begins a character.
        let count = document.buffer(of: nodes[index]).count { $0 & 0xC0 != 0x80 }
        return type.allows(Int64(count))
    }

    private borrowing func holdsArray(_ type: TypePlan.Node, _ index: Int, over old: Int, depth: Int) -> Bool {
        let count = Int(nodes[index].count)
        if type.isLimited, !type.allows(Int64(count)) { return false }
        let element = Int(type.operand)
        let head = types[element].plainHead
        if head != .max { return (index &+ 1..<index &+ 1 &+ count).allSatisfy { nodes[$0].head == head } }
        var position = index &+ 1
        var place = oldContainer(old, .array, count) &+ 1
        for _ in 0..<count {
            guard holds(element, position, over: place > 0 ? place : -1, depth: depth) else { return false }
            position &+= nodes[position].span
            if place > 0 { place &+= stored.nodes[place].span }
        }
        return true
    }

    /// The stored container, if it is of the kind and has as many parts; else -1.
    private borrowing func oldContainer(_ old: Int, _ kind: PropertyListKind, _ count: Int) -> Int {
        guard old >= 0 else { return -1 }
        let node = stored.nodes[old]
        return node.kind == kind && Int(node.count) == count ? old : -1
    }

    private borrowing func holdsDictionary(_ type: TypePlan.Node, _ index: Int, over old: Int, depth: Int) -> Bool {
        for slot in document.keys(ofDictionaryAt: index) {
            let place = type.keepsUnknown ? oldValue(old, document.buffer(of: nodes[slot])) : -1
            guard holds(Int(type.operand), index &+ nodes[slot].distance, over: place, depth: depth) else {
                return false
            }
        }
        return true
    }

    /// The node of the stored dictionary's value for the key; -1 where there is none.
    private borrowing func oldValue(_ old: Int, _ key: UnsafeBufferPointer<UInt8>) -> Int {
        guard old >= 0 else { return -1 }
        return stored.value(of: key, inDictionaryAt: old)
    }

    /// Keys and fields are both in the order of their bytes: one pass over the two. A key that is no field's ends it.
    private borrowing func holdsStructure(_ structureIndex: Int, _ index: Int, over old: Int, depth: Int) -> Bool {
        let structure = plan.structures[structureIndex]
        guard structure.isPlain else { return false }
        let keys = document.keys(ofDictionaryAt: index)
        var slot = keys.lowerBound
        for fieldIndex in structure.first..<(structure.first &+ structure.count) {
            let field = plan.fields + fieldIndex
            guard slot < keys.upperBound, isKey(nodes[slot], field.pointee.key) else {
                guard mayLack(field.pointee, over: old) else { return false }
                continue
            }
            let value = index &+ nodes[slot].distance
            if nodes[value].head == field.pointee.plainHead, !isEncoding || field.pointee.defaultIndex < 0 {
                slot &+= 1
                continue
            }
            // Only a struct inside, and a field with a default, look at what is stored.
            let node = Int(field.pointee.node)
            let needsOld = old >= 0 && (field.pointee.defaultIndex >= 0 || types[node].keepsUnknown)
            let place = needsOld ? oldValue(old, plan.bytes(field.pointee.key)) : -1
            guard holds(node, value, over: place, depth: depth) else { return false }
            if place < 0, isDefault(value, field.pointee) { return false }
            slot &+= 1
        }
        return slot == keys.upperBound
    }

    private borrowing func holdsVariant(_ type: TypePlan.Node, _ index: Int, over old: Int, depth: Int) -> Bool {
        let keys = document.keys(ofDictionaryAt: index)
        guard keys.count == 1, depth < TypeLimits.depth else { return false }
        let key = document.buffer(of: nodes[keys.lowerBound])
        guard let structure = plan.structure(ofCase: key, type) else { return false }
        let value = index &+ nodes[keys.lowerBound].distance
        return nodes[value].kind == .dictionary
            && holdsStructure(structure, value, over: oldValue(old, key), depth: depth &+ 1)
    }

    @inline(__always)
    private borrowing func isKey(_ key: kv_node, _ text: TypePlan.Text) -> Bool {
        plan.isKey(key, text, document)
    }

    /// Whether nothing is to be filled in or written where the field is absent.
    private borrowing func mayLack(_ field: TypePlan.Field, over old: Int) -> Bool {
        guard field.defaultIndex >= 0 else { return field.isOptional }
        return isEncoding && oldValue(old, plan.bytes(field.key)) < 0
    }

    /// Whether encoding might leave the field out, since its value is the default.
    private borrowing func isDefault(_ index: Int, _ field: TypePlan.Field) -> Bool {
        guard isEncoding, field.defaultIndex >= 0 else { return false }
        return owner._withUnsafeGuaranteedRef { $0.defaults[Int(field.defaultIndex)] == document.list(at: index) }
    }

    // MARK: - Whether a stored value holds nothing unknown

    private borrowing func knows(_ typeIndex: Int, _ index: Int, depth: Int) -> Bool {
        let type = types[typeIndex]
        guard type.keepsUnknown else { return true }
        if depth > TypeLimits.depth { return false }
        switch (type.shape, nodes[index].kind) {
        case (.swift, _): return false
        case (.structure, .dictionary): return knowsStructure(Int(type.operand), index, depth: depth &+ 1)
        case (.variant, .dictionary): return knowsVariant(type, index, depth: depth &+ 1)
        case (.array, .array):
            var position = index &+ 1
            for _ in 0..<nodes[index].count {
                guard knows(Int(type.operand), position, depth: depth &+ 1) else { return false }
                position &+= nodes[position].span
            }
            return true
        case (.dictionary, .dictionary):
            return document.keys(ofDictionaryAt: index).allSatisfy {
                knows(Int(type.operand), index &+ nodes[$0].distance, depth: depth &+ 1)
            }
        default: return true
        }
    }

    private borrowing func knowsStructure(_ structureIndex: Int, _ index: Int, depth: Int) -> Bool {
        let structure = plan.structures[structureIndex]
        let keys = document.keys(ofDictionaryAt: index)
        var slot = keys.lowerBound
        for fieldIndex in structure.first..<(structure.first &+ structure.count) where slot < keys.upperBound {
            let field = plan.fields + fieldIndex
            guard isKey(nodes[slot], field.pointee.key) else { continue }
            let value = index &+ nodes[slot].distance
            guard knows(Int(field.pointee.node), value, depth: depth) else { return false }
            slot &+= 1
        }
        return slot == keys.upperBound
    }

    private borrowing func knowsVariant(_ type: TypePlan.Node, _ index: Int, depth: Int) -> Bool {
        document.keys(ofDictionaryAt: index).allSatisfy { slot in
            guard let structure = plan.structure(ofCase: document.buffer(of: nodes[slot]), type) else { return false }
            let value = index &+ nodes[slot].distance
            return nodes[value].kind != .dictionary || knowsStructure(structure, value, depth: depth &+ 1)
        }
    }
}
