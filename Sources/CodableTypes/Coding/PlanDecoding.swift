internal import CKVCodable
internal import PropertyLists

/// From the stored form to the program form, in one walk beside a plan.
///
/// It gives up where something is wrong: ``DecodingCheck`` then says what. Recursion is bounded by ``TypeLimits``. For
/// the pointers, see ``Conformance``.
struct PlanDecoding: ~Copyable {
    private let plan: TypePlan.View
    private let owner: Unmanaged<TypePlan>
    private let document: DocumentView
    private let nodes: UnsafePointer<kv_node>
    private var output: PlanOutput
    /// For each struct that is being written, where the values of its fields are, in the order of their names: in nodes
    /// from its header; 0 for none.
    private var places = GrowableBuffer<Int32>()
    /// What a Swift type's own code threw.
    private var failure: TypeError?

    /// The program form of a value of the plan's node `type`; nil where it is not of the type.
    ///
    /// - Throws: what the code of a Swift type throws, without its place.
    static func decoded(_ list: PropertyList, _ plan: TypePlan, as type: Int) throws(TypeError) -> PropertyList? {
        defer {
            withExtendedLifetime(plan) {}
            withExtendedLifetime(list) {}
        }
        var decoding = PlanDecoding(plan, list.document)
        if decoding.write(type, list.index, depth: 0) { return decoding.finish() }
        if let failure = decoding.failure { throw failure }
        return nil
    }

    private init(_ plan: TypePlan, _ document: Document) {
        self.plan = plan.view
        owner = Unmanaged.passUnretained(plan)
        self.document = DocumentView(document)
        nodes = document.nodes
        output = PlanOutput(plan, document)
    }

    private consuming func finish() -> PropertyList { output.finish() }

    // MARK: - Values

    private mutating func write(_ typeIndex: Int, _ index: Int, depth: Int) -> Bool {
        let type = plan.nodes + typeIndex
        let node = nodes[index]
        if type.pointee.isOptional, node.kind == .null || node.kind == .string, document.isNil(index) {
            output.nodes.append(kv_node(kind: .null))
            return true
        }
        switch type.pointee.shape {
        case .structure, .variant, .array, .dictionary:
            return depth < TypeLimits.depth && writeContainer(type.pointee, index, depth: depth &+ 1)
        case .any:
            guard node.kind != .null, document.fits(index, below: depth) else { return false }
            output.add(document.list(at: index))
        case .swift:
            return writeSwift(owner._withUnsafeGuaranteedRef({ $0.swiftTypes[Int(type.pointee.operand)] }), index)
        default: return output.addScalar(index, of: document, type, owner)
        }
        return true
    }

    private mutating func writeContainer(_ type: TypePlan.Node, _ index: Int, depth: Int) -> Bool {
        let kind = nodes[index].kind
        guard kind == (type.shape == .array ? .array : .dictionary), output.hasRoom else { return false }
        switch type.shape {
        case .structure: return writeStructure(Int(type.operand), index, depth: depth)
        case .variant: return writeVariant(type, index, depth: depth)
        case .array: return writeArray(type, index, depth: depth)
        default: return writeDictionary(type, index, depth: depth)
        }
    }

    private mutating func writeSwift(_ type: SwiftType, _ index: Int) -> Bool {
        do throws(TypeError) {
            output.add(try type.decode(document.list(at: index)))
            return true
        } catch {
            failure = error
            return false
        }
    }

    private mutating func writeArray(_ type: TypePlan.Node, _ index: Int, depth: Int) -> Bool {
        let count = Int(nodes[index].count)
        if type.isLimited, !type.allows(Int64(count)) { return false }
        let header = output.begin(.array)
        let element = Int(type.operand)
        var position = index &+ 1
        for _ in 0..<count {
            guard write(element, position, depth: depth) else { return false }
            position &+= nodes[position].span
        }
        output.end(header, count: count)
        return true
    }

    private mutating func writeDictionary(_ type: TypePlan.Node, _ index: Int, depth: Int) -> Bool {
        let keys = document.keys(ofDictionaryAt: index)
        let header = output.begin(.dictionary)
        let first = places.count
        for slot in keys {
            places.append(Int32(truncatingIfNeeded: output.nodes.count &- header))
            guard write(Int(type.operand), index &+ nodes[slot].distance, depth: depth) else { return false }
        }
        for (offset, slot) in keys.enumerated() {
            var key = output.stored(nodes[slot], of: document)
            key.distance = Int(places[first &+ offset])
            output.nodes.append(key)
        }
        places.count = first
        output.end(header, count: keys.count)
        return true
    }

    // MARK: - Structs

    private mutating func writeStructure(_ structureIndex: Int, _ index: Int, depth: Int) -> Bool {
        let structure = plan.structures[structureIndex]
        let shift = output.shift(of: structure.names, structureIndex, plan)
        let header = output.begin(.dictionary)
        let first = places.count
        places.reserve(structure.total)
        places.count = first &+ structure.total
        let keys = document.keys(ofDictionaryAt: index)
        var slot = keys.lowerBound
        for number in 0..<structure.total {
            let field = plan.fields + (structure.first &+ number)
            let found = number < structure.count && find(field.pointee.key, &slot, keys.upperBound)
            let place = output.nodes.count &- header
            guard found ? writeField(field, index &+ nodes[slot].distance, shift, depth) : fill(field, shift) else {
                return false
            }
            // Nothing was written where the place is still the same.
            let isThere = output.nodes.count &- header > place
            places[first &+ Int(field.pointee.rank)] = isThere ? Int32(truncatingIfNeeded: place) : 0
        }
        writeNames(structure, shift, from: first, header)
        places.count = first
        return true
    }

    /// Moves on to the key; says whether it is there.
    @inline(__always)
    private borrowing func find(_ key: TypePlan.Text, _ slot: inout Int, _ end: Int) -> Bool {
        while slot < end {
            if plan.isKey(nodes[slot], key, document) { return true }
            if compareBytes(document.buffer(of: nodes[slot]), plan.bytes(key)) > 0 { return false }
            slot &+= 1
        }
        return false
    }

    @inline(__always)
    private mutating func writeField(
        _ field: UnsafePointer<TypePlan.Field>, _ value: Int, _ shift: Int, _ depth: Int
    ) -> Bool {
        let node = nodes[value]
        if node.head == field.pointee.plainHead {
            output.add(node, of: document)
            return true
        }
        if field.pointee.isOptional, document.isNil(value) { return fill(field, shift) }
        return write(Int(field.pointee.node), value, depth: depth)
    }

    /// Writes the default of a field that is not there; false where it must be, or makes the document too large.
    @inline(__always)
    private mutating func fill(_ field: UnsafePointer<TypePlan.Field>, _ shift: Int) -> Bool {
        guard field.pointee.defaultIndex >= 0 else { return field.pointee.isOptional || field.pointee.isTransient }
        var node = field.pointee.scalarDefault
        if node.kind == .null {
            output.add(owner._withUnsafeGuaranteedRef { $0.defaults[Int(field.pointee.defaultIndex)] })
            return output.hasRoom
        } else {
            if node.hasBytes { node.payload &+= UInt64(truncatingIfNeeded: shift) }
            output.nodes.append(node)
        }
        return true
    }

    /// Closes a struct with the names of the fields that have a value.
    @inline(__always)
    private mutating func writeNames(_ structure: TypePlan.Structure, _ shift: Int, from first: Int, _ header: Int) {
        output.nodes.reserve(structure.total)
        guard let base = output.nodes.base, let places = places.base else { return output.end(header, count: 0) }
        let keys = base + output.nodes.count
        let names = plan.names + structure.first
        var count = 0
        for rank in 0..<structure.total {
            let place = places[first &+ rank]
            if place == 0 { continue }
            keys[count] = kv_node(
                head: 0x8000_0000 | UInt32(truncatingIfNeeded: place), count: names[rank].count,
                payload: names[rank].payload &+ UInt64(truncatingIfNeeded: shift))
            count &+= 1
        }
        output.nodes.count &+= count
        output.end(header, count: count)
    }

    /// One known case; what else is there is left out.
    private mutating func writeVariant(_ type: TypePlan.Node, _ index: Int, depth: Int) -> Bool {
        var found: (slot: Int, structure: Int)?
        for slot in document.keys(ofDictionaryAt: index) {
            guard let structure = plan.structure(ofCase: document.buffer(of: nodes[slot]), type) else { continue }
            guard found == nil else { return false }
            found = (slot, structure)
        }
        guard let found, depth < TypeLimits.depth else { return false }
        let values = index &+ nodes[found.slot].distance
        let header = output.begin(.dictionary)
        guard nodes[values].kind == .dictionary, writeStructure(found.structure, values, depth: depth &+ 1) else {
            return false
        }
        var key = output.stored(nodes[found.slot], of: document)
        key.distance = 1
        output.nodes.append(key)
        output.end(header, count: 1)
        return true
    }
}

extension TypePlan {
    /// The form of a scalar or a raw value, by its type's own rules; nil where it is not of the type.
    func form(of value: PropertyList, _ type: Node) -> ScalarForm? {
        switch type.shape {
        case .strings, .integers: try? enumerationTypes[Int(type.operand)].form(of: value)
        default: type.converter < 0 ? nil : try? scalars[Int(type.converter)].form(of: value)
        }
    }
}
