internal import CKVCodable
internal import PropertyLists

extension PlanEncoding {
    /// A struct's fields under their keys, and between them the keys of the stored dictionary that no field has.
    mutating func writeStructure(_ structureIndex: Int, _ index: Int, over place: Int, depth: Int) -> Bool {
        let structure = plan.structures[structureIndex]
        let first = given.count
        guard findFields(of: structure, index) else { return false }
        let header = output.begin(.dictionary)
        let firstKey = keys.count
        let shift = output.shift(of: structure.keys, structureIndex, plan)
        var unknown = UnknownKeys(of: place, in: old)
        for number in 0..<structure.count {
            let field = plan.fields + (structure.first &+ number)
            let key = field.pointee.key
            let source = unknown.moved(to: plan.bytes(key), in: old) { keepStored($0, of: place, header) }
            let value = given[first &+ Int(field.pointee.rank)]
            guard let content = content(of: field, value, over: source) else { return false }
            guard content != .nothing else { continue }
            keys.append(
                kv_node(
                    head: 0x8000_0000 | UInt32(truncatingIfNeeded: output.nodes.count &- header),
                    count: UInt32(truncatingIfNeeded: key.count),
                    payload: UInt64(truncatingIfNeeded: shift &+ Int(key.start))))
            if content == .given, nodes[value].head == field.pointee.plainHead {
                output.add(nodes[value], of: document)
            } else {
                guard writeField(field, content, value, over: source, depth: depth) else { return false }
            }
        }
        unknown.rest { keepStored($0, of: place, header) }
        noteTransients(of: structure, from: first)
        given.count = first
        end(header, from: firstKey)
        return true
    }

    /// What is given for a transient field is lost, and decoding fills in its default.
    private mutating func noteTransients(of structure: TypePlan.Structure, from first: Int) {
        for number in structure.count..<structure.total {
            let field = plan.fields + (structure.first &+ number)
            if given[first &+ Int(field.pointee.rank)] >= 0 || field.pointee.defaultIndex >= 0 { isExact = false }
        }
    }

    /// What stands under a field's key.
    private enum Content {
        case nothing, given, standard
    }

    /// What is to be written under a field's key: its default only where the stored dictionary has its key. Nil where
    /// the field must be there and is not.
    @inline(__always)
    private mutating func content(
        of field: UnsafePointer<TypePlan.Field>, _ value: Int, over source: Int
    ) -> Content? {
        guard value >= 0, !(field.pointee.isOptional && document.isNil(value)) else {
            if value >= 0 || field.pointee.defaultIndex >= 0 { isExact = false }
            if field.pointee.defaultIndex >= 0 { return source < 0 ? .nothing : .standard }
            return field.pointee.isOptional ? .nothing : nil
        }
        guard source < 0, field.pointee.defaultIndex >= 0 else { return .given }
        return isDefault(value, of: field) ? .nothing : .given
    }

    private mutating func isDefault(_ value: Int, of field: UnsafePointer<TypePlan.Field>) -> Bool {
        let standard = field.pointee.scalarDefault
        guard standard.kind != .null else {
            let (list, standard) = (document.list(at: value), self.standard(of: field))
            if list.kind != standard.kind { isExact = false }
            return list.means(standard)
        }
        let node = nodes[value]
        guard node.head == standard.head, node.hasBytes else {
            return node.head == standard.head && node.payload == standard.payload
        }
        return compareBytes(document.buffer(of: node), plan.bytes(standard)) == 0
    }

    /// The default of a field that has one.
    private borrowing func standard(of field: UnsafePointer<TypePlan.Field>) -> PropertyList {
        owner._withUnsafeGuaranteedRef { $0.defaults[Int(field.pointee.defaultIndex)] }
    }

    private mutating func writeField(
        _ field: UnsafePointer<TypePlan.Field>, _ content: Content, _ value: Int, over source: Int, depth: Int
    ) -> Bool {
        if content == .given { return write(Int(field.pointee.node), value, over: source, depth: depth) }
        // A default is in program form, as the given value is, but in a document of its own.
        let encoded = owner._withUnsafeGuaranteedRef { plan in
            try? PlanEncoding.encoded(
                standard(of: field), over: old.list(at: source), plan, as: Int(field.pointee.node))
        }
        guard let encoded else { return false }
        droppedElements += encoded.droppedElements
        output.add(encoded.list)
        return output.hasRoom
    }

    /// Notes where the given value has the fields, in the order of their names; false for a key that no field has.
    private mutating func findFields(of structure: TypePlan.Structure, _ index: Int) -> Bool {
        let slots = document.keys(ofDictionaryAt: index)
        var slot = slots.lowerBound
        given.reserve(structure.total)
        for rank in 0..<structure.total {
            let name = plan.names[structure.first &+ rank]
            guard slot < slots.upperBound, compareBytes(document.buffer(of: nodes[slot]), plan.bytes(name)) == 0 else {
                given.append(-1)
                continue
            }
            given.append(index &+ nodes[slot].distance)
            slot &+= 1
        }
        return slot == slots.upperBound
    }

    /// Takes over an entry of the stored dictionary as it is.
    private mutating func keepStored(_ slot: Int, of place: Int, _ header: Int) {
        let key = old.nodes[slot]
        keep(output.stored(key, of: old), header)
        output.add(old.list(at: place &+ key.distance))
    }

    // MARK: - Enums with associated values

    /// The given case over the stored one; stored keys that are no case's stay.
    mutating func writeVariant(_ type: TypePlan.Node, _ index: Int, over place: Int, depth: Int) -> Bool {
        let slots = document.keys(ofDictionaryAt: index)
        guard slots.count == 1, depth < TypeLimits.depth else { return false }
        let name = document.buffer(of: nodes[slots.lowerBound])
        guard let structure = plan.structure(ofCase: name, type) else { return false }
        let values = index &+ nodes[slots.lowerBound].distance
        guard nodes[values].kind == .dictionary else { return false }
        let header = output.begin(.dictionary)
        let firstKey = keys.count
        var unknown = UnknownKeys(of: place, in: old)
        let keepUnknown = { (self: inout PlanEncoding, slot: Int) in
            let isCase = self.plan.structure(ofCase: self.old.buffer(of: self.old.nodes[slot]), type) != nil
            if !isCase { self.keepStored(slot, of: place, header) }
        }
        let source = unknown.moved(to: name, in: old) { keepUnknown(&self, $0) }
        keep(output.stored(nodes[slots.lowerBound], of: document), header)
        guard writeStructure(structure, values, over: source, depth: depth &+ 1) else { return false }
        unknown.rest { keepUnknown(&self, $0) }
        end(header, from: firstKey)
        return true
    }
}

/// A walk over the keys of a stored dictionary, beside a walk over known keys in the same order.
private struct UnknownKeys {
    private let header: Int
    private var slot = 0
    private var end = 0

    /// - Parameter header: the dictionary's node; another kind of value, or -1, has no keys.
    init(of header: Int, in document: DocumentView) {
        self.header = header
        guard header >= 0, document.nodes[header].kind == .dictionary else { return }
        let keys = document.keys(ofDictionaryAt: header)
        (slot, end) = (keys.lowerBound, keys.upperBound)
    }

    /// Goes on to a known key, past others, which `body` is given; gives the node of its value, or -1.
    @inline(__always)
    mutating func moved(
        to key: UnsafeBufferPointer<UInt8>, in document: DocumentView, _ body: (_ slot: Int) -> Void
    ) -> Int {
        while slot < end {
            let order = compareBytes(document.buffer(of: document.nodes[slot]), key)
            if order > 0 { return -1 }
            defer { slot &+= 1 }
            if order == 0 { return header &+ document.nodes[slot].distance }
            body(slot)
        }
        return -1
    }

    /// The keys behind the last known one.
    mutating func rest(_ body: (_ slot: Int) -> Void) {
        while slot < end {
            body(slot)
            slot &+= 1
        }
    }
}

extension PropertyList {
    /// Whether this is `other`, or an empty table of Lua where `other` is an empty array.
    func means(_ other: PropertyList) -> Bool {
        self == other || (kind == .dictionary && other.kind == .array && count == 0 && other.count == 0)
    }
}
