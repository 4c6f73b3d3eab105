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
            let field = plan.fields[structure.first &+ number]
            let source = unknown.moved(to: plan.bytes(field.key), in: old) { keepStored($0, of: place, header) }
            guard let isGiven = isWritten(field, given[first &+ Int(field.rank)], over: source) else { return false }
            guard isGiven != .nothing else { continue }
            var key = kv_node(
                kind: .null, count: Int(field.key.count),
                payload: UInt64(truncatingIfNeeded: shift &+ Int(field.key.start)))
            key.distance = output.nodes.count &- header
            keys.append(key)
            guard writeField(field, isGiven, given[first &+ Int(field.rank)], over: source, depth: depth) else {
                return false
            }
        }
        unknown.rest { keepStored($0, of: place, header) }
        given.count = first
        end(header, from: firstKey)
        return true
    }

    /// What stands under a field's key.
    private enum Content {
        case nothing, given, standard
    }

    /// What is to be written for a field: its default only where the stored dictionary has its key. Nil where the field
    /// must be there and is not.
    private borrowing func isWritten(_ field: TypePlan.Field, _ value: Int, over source: Int) -> Content? {
        guard value >= 0, !(field.isOptional && document.isNil(value)) else {
            if field.defaultIndex >= 0 { return source < 0 ? .nothing : .standard }
            return field.isOptional ? .nothing : nil
        }
        guard source < 0, field.defaultIndex >= 0 else { return .given }
        return self.value(value).means(plan.defaults[Int(field.defaultIndex)]) ? .nothing : .given
    }

    private mutating func writeField(
        _ field: TypePlan.Field, _ content: Content, _ value: Int, over source: Int, depth: Int
    ) -> Bool {
        if content == .given { return write(Int(field.node), value, over: source, depth: depth) }
        // A default is in program form, as the given value is, but in a document of its own.
        let standard = plan.defaults[Int(field.defaultIndex)]
        let stored = PropertyList(document: old, index: source)
        guard let encoded = try? PlanEncoding.encoded(standard, over: stored, plan, as: Int(field.node)) else {
            return false
        }
        droppedElements += encoded.droppedElements
        output.add(encoded.list)
        return true
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
        output.add(PropertyList(document: old, index: place &+ key.distance))
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
    init(of header: Int, in document: Document) {
        self.header = header
        guard header >= 0, document.nodes[header].kind == .dictionary else { return }
        let keys = document.keys(ofDictionaryAt: header)
        (slot, end) = (keys.lowerBound, keys.upperBound)
    }

    /// Goes on to a known key, past others, which `body` is given; gives the node of its value, or -1.
    @inline(__always)
    mutating func moved(
        to key: UnsafeBufferPointer<UInt8>, in document: Document, _ body: (_ slot: Int) -> Void
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
