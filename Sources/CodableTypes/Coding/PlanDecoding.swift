internal import CKVCodable
internal import PropertyLists

/// From the stored form to the program form, in one walk beside a plan.
///
/// The walk goes through a struct in the order of its keys. Of several faults it still reports the one that Swift would
/// find, the first in the order of declaration: after a fault it goes on to the fields that were declared before.
/// Recursion is bounded by ``TypeLimits``.
///
/// The pointers lead into the plan and the document, which are kept alive until the end of the walk; every index into
/// the plan was made by its compiler, every index into the document comes from a validated layout.
struct PlanDecoding: ~Copyable {
    /// The result for a value in stored form.
    struct Decoded {
        /// The program form: the value itself where its two forms are the same.
        let list: PropertyList
        let isUnchanged: Bool
        /// Whether the value may have parts that the type does not know.
        let leavesOut: Bool
    }

    private let plan: TypePlan
    private let tables: TypePlan.View
    private let document: Document
    private let nodes: UnsafePointer<kv_node>
    private var output: PlanOutput
    private var hasChanged = false
    private var leavesOut = false
    /// For each container that is being written, the distances of its values in the output, in nodes from its header:
    /// for a struct in the order of its fields' names, 0 for a field without a value.
    private var distances = GrowableBuffer<Int32>()

    /// The program form of a value of the plan's node `type`.
    ///
    /// - Throws: the first fault, with its path from the value.
    static func decoded(_ list: PropertyList, _ plan: TypePlan, as type: Int) throws(TypeError) -> Decoded {
        defer {
            withExtendedLifetime(list) {}
            withExtendedLifetime(plan) {}
        }
        var decoding = PlanDecoding(plan, list)
        do throws(TypeError) {
            try decoding.write(type, list.index, depth: 0)
        } catch {
            try TypeLimits.check(list)
            throw decoding.output.hasRoom ? error : .tooLarge(plan.form)
        }
        return decoding.finish(list)
    }

    private init(_ plan: TypePlan, _ list: borrowing PropertyList) {
        self.plan = plan
        tables = plan.view
        document = list.document
        nodes = document.nodes
        output = PlanOutput(tables, list)
    }

    private mutating func finish(_ list: PropertyList) -> Decoded {
        let isUnchanged = !hasChanged && !output.hasConverted
        return Decoded(list: isUnchanged ? list : output.finish(), isUnchanged: isUnchanged, leavesOut: leavesOut)
    }

    private borrowing func value(_ index: Int) -> PropertyList { PropertyList(document: document, index: index) }

    // MARK: - Values

    /// - Parameter depth: how many containers the value is in.
    private mutating func write(_ typeIndex: Int, _ index: Int, depth: Int) throws(TypeError) {
        let type = tables.nodes + typeIndex
        let node = nodes[index]
        if node.head == type.pointee.plainHead { return output.add(node, of: document) }
        if type.pointee.isOptional, document.isNil(index) {
            if node.kind != .null { hasChanged = true }
            return output.nodes.append(kv_node(kind: .null))
        }
        switch type.pointee.shape {
        case .structure, .variant, .array, .dictionary:
            if type.pointee.shape == .variant, node.kind != .dictionary {
                throw plan.variantTypes[Int(type.pointee.operand)].wrongKind(value(index))
            }
            try output.check(index, of: document, type.pointee.shape == .array ? .array : .dictionary, depth)
            try writeContainer(type.pointee, index, depth: depth &+ 1)
        case .any:
            try TypeLimits.checkAny(value(index), depth)
            output.add(value(index))
        case .swift:
            (hasChanged, leavesOut) = (true, true)
            output.add(try plan.swiftTypes[Int(type.pointee.operand)].decode(value(index)))
        default: try output.addScalar(index, of: document, type.pointee, plan)
        }
    }

    private mutating func writeContainer(_ type: TypePlan.Node, _ index: Int, depth: Int) throws(TypeError) {
        switch type.shape {
        case .structure: try writeStructure(Int(type.operand), index, depth: depth)
        case .variant: try writeVariant(type, index, depth: depth)
        case .array: try writeArray(type, index, depth: depth)
        default: try writeDictionary(type, index, depth: depth)
        }
    }

    private mutating func writeArray(_ type: TypePlan.Node, _ index: Int, depth: Int) throws(TypeError) {
        let count = Int(nodes[index].count)
        try plan.checkLength(count, type)
        let header = output.begin(.array)
        var position = index &+ 1
        for number in 0..<count {
            do throws(TypeError) {
                try write(Int(type.operand), position, depth: depth)
            } catch {
                throw error.placed(at: .index(number))
            }
            position &+= nodes[position].span
        }
        output.end(header, count: count)
    }

    private mutating func writeDictionary(_ type: TypePlan.Node, _ index: Int, depth: Int) throws(TypeError) {
        let keys = document.keys(ofDictionaryAt: index)
        let header = output.begin(.dictionary)
        let first = distances.count
        for slot in keys {
            distances.append(Int32(truncatingIfNeeded: output.nodes.count &- header))
            do throws(TypeError) {
                try write(Int(type.operand), index &+ nodes[slot].distance, depth: depth)
            } catch {
                throw error.placed(at: .key(document.text(of: nodes[slot])))
            }
        }
        for (offset, slot) in keys.enumerated() {
            var key = output.stored(nodes[slot], of: document)
            key.distance = Int(distances[first &+ offset])
            output.nodes.append(key)
        }
        distances.count = first
        output.end(header, count: keys.count)
    }

    // MARK: - Structs

    private mutating func writeStructure(_ structureIndex: Int, _ index: Int, depth: Int) throws(TypeError) {
        let structure = tables.structures[structureIndex]
        let shift = output.shift(of: structure.names, structureIndex, tables)
        let header = output.begin(.dictionary)
        let first = distances.count
        distances.reserve(structure.total)
        distances.count = first &+ structure.total
        let keys = document.keys(ofDictionaryAt: index)
        var slot = keys.lowerBound
        var known = 0
        var fault = FirstFault()
        for number in 0..<structure.total {
            let field = tables.fields + (structure.first &+ number)
            let isFound = number < structure.count && find(field.pointee.key, &slot, keys.upperBound)
            if isFound { known &+= 1 }
            if isFound, !structure.isPlain {
                output.sharedBytes &+= max(0, Int(field.pointee.nameLength &- field.pointee.key.count))
            }
            guard fault.isAfter(field.pointee) else { continue }
            let distance = output.nodes.count &- header
            if !isFound {
                if !fill(field, shift) { fault.note(missing(field, of: structureIndex), field.pointee) }
            } else {
                do throws(TypeError) {
                    try writeField(field, index &+ nodes[slot].distance, shift, depth)
                } catch {
                    fault.note(error.placed(at: .key(tables.text(field.pointee.key))), field.pointee)
                }
            }
            // Nothing was written where the output is still as long.
            let isThere = output.nodes.count &- header > distance
            distances[first &+ Int(field.pointee.rank)] = isThere ? Int32(truncatingIfNeeded: distance) : 0
        }
        try fault.check()
        if known != keys.count { (hasChanged, leavesOut) = (true, true) }
        if !structure.isPlain { hasChanged = true }
        writeNames(structure, shift, from: first, header)
        distances.count = first
    }

    private borrowing func missing(_ field: UnsafePointer<TypePlan.Field>, of structureIndex: Int) -> TypeError {
        let declared = plan.structureTypes[structureIndex].fields[Int(field.pointee.declaration)]
        return .missingField(declared.key, declared.type)
    }

    /// Moves on to the key; true where it is there.
    private borrowing func find(_ key: TypePlan.Text, _ slot: inout Int, _ end: Int) -> Bool {
        while slot < end {
            if tables.isKey(nodes[slot], key, document) { return true }
            if compareBytes(document.buffer(of: nodes[slot]), tables.bytes(key)) > 0 { return false }
            slot &+= 1
        }
        return false
    }

    private mutating func writeField(
        _ field: UnsafePointer<TypePlan.Field>, _ index: Int, _ shift: Int, _ depth: Int
    ) throws(TypeError) {
        guard field.pointee.isOptional, document.isNil(index) else {
            return try write(Int(field.pointee.node), index, depth: depth)
        }
        hasChanged = true
        if !fill(field, shift) { try output.checkRoom() }
    }

    /// Writes the default of a field that is not there; false where the field must be, or makes the document too large.
    private mutating func fill(_ field: UnsafePointer<TypePlan.Field>, _ shift: Int) -> Bool {
        guard field.pointee.defaultIndex >= 0 else { return field.pointee.isOptional || field.pointee.isTransient }
        hasChanged = true
        output.sharedBytes &+= Int(field.pointee.nameLength)
        var node = field.pointee.scalarDefault
        if node.kind == .null {
            output.add(plan.defaults[Int(field.pointee.defaultIndex)])
            return output.hasRoom
        }
        if node.hasBytes {
            node.payload &+= UInt64(truncatingIfNeeded: shift)
            output.sharedBytes &+= Int(node.count)
        }
        output.nodes.append(node)
        return true
    }

    /// Closes a struct with the names of the fields that have a value.
    private mutating func writeNames(_ structure: TypePlan.Structure, _ shift: Int, from first: Int, _ header: Int) {
        output.nodes.reserve(structure.total)
        guard let base = output.nodes.base, let distances = distances.base else { return output.end(header, count: 0) }
        let keys = base + output.nodes.count
        let names = tables.names + structure.first
        var count = 0
        for rank in 0..<structure.total {
            let distance = distances[first &+ rank]
            if distance == 0 { continue }
            keys[count] = kv_node(
                keyTo: Int(distance), count: names[rank].count,
                payload: names[rank].payload &+ UInt64(truncatingIfNeeded: shift))
            count &+= 1
        }
        output.nodes.count &+= count
        output.end(header, count: count)
    }

    // MARK: - Enums with associated values

    /// Writes the one known case; other entries are left out.
    private mutating func writeVariant(_ type: TypePlan.Node, _ index: Int, depth: Int) throws(TypeError) {
        let keys = document.keys(ofDictionaryAt: index)
        var found: (slot: Int, structure: Int)?
        var count = 0
        for slot in keys {
            guard let structure = tables.structure(ofCase: document.buffer(of: nodes[slot]), type) else { continue }
            found = (slot, structure)
            count &+= 1
        }
        guard count == 1, let found else {
            let variant = plan.variantTypes[Int(type.operand)]
            let only = keys.count == 1 ? keys.first : nil
            throw variant.wrongCount(count, only: only.map { document.text(of: nodes[$0]) })
        }
        if keys.count > 1 { (hasChanged, leavesOut) = (true, true) }
        let values = index &+ nodes[found.slot].distance
        let header = output.begin(.dictionary)
        do throws(TypeError) {
            try output.check(values, of: document, .dictionary, depth)
            try writeStructure(found.structure, values, depth: depth &+ 1)
        } catch {
            throw error.placed(at: .key(document.text(of: nodes[found.slot])))
        }
        var key = output.stored(nodes[found.slot], of: document)
        key.distance = 1
        output.nodes.append(key)
        output.end(header, count: 1)
    }
}

/// Of the faults in a struct's fields, the one in the field that was declared first.
struct FirstFault {
    private var declaration = Int32.max
    private var error: TypeError?

    /// Whether a fault of the field would come before the fault found.
    func isAfter(_ field: TypePlan.Field) -> Bool { field.declaration < declaration }

    mutating func note(_ error: TypeError, _ field: TypePlan.Field) {
        declaration = field.declaration
        self.error = error
    }

    func check() throws(TypeError) {
        if let error { throw error }
    }
}
