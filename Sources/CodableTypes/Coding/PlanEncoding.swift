internal import CKVCodable
internal import PropertyLists

/// From the program form to the stored form, in one walk beside a plan.
///
/// Of several faults it reports the one that Swift would find, as ``PlanDecoding`` does. Recursion is bounded by
/// ``TypeLimits``; for the pointers, see ``PlanDecoding``.
struct PlanEncoding: ~Copyable {
    /// The result for a value in program form.
    struct Encoded {
        /// The stored form: the value itself where its two forms are the same.
        let list: PropertyList
        let isUnchanged: Bool
        /// Whether decoding the stored form gives exactly the given value.
        let isExact: Bool
    }

    private let plan: TypePlan
    private let tables: TypePlan.View
    private let document: Document
    private let nodes: UnsafePointer<kv_node>
    private var output: PlanOutput
    /// For each struct that is being written, the keys of its fields in the given value, in the order of their names,
    /// with a distance of 0 for none; for it and for each dictionary that is being written, the keys written so far.
    private var keys = GrowableBuffer<kv_node>()
    private var hasChanged = false
    private var isExact = true

    /// The stored form of a value of the plan's node `type`.
    ///
    /// - Throws: the first fault, with its path from the value.
    static func encoded(
        _ list: PropertyList, _ plan: TypePlan, as type: Int
    ) throws(TypeError) -> Encoded {
        defer {
            withExtendedLifetime(list) {}
            withExtendedLifetime(plan) {}
        }
        var encoding = PlanEncoding(plan, list)
        do throws(TypeError) {
            try encoding.write(type, list.index, depth: 0)
        } catch {
            try TypeLimits.check(list)
            throw encoding.output.hasRoom ? error : .tooLarge(plan.form)
        }
        return encoding.finish(list)
    }

    private init(_ plan: TypePlan, _ list: borrowing PropertyList) {
        self.plan = plan
        tables = plan.view
        document = list.document
        nodes = document.nodes
        output = PlanOutput(tables, list)
    }

    private mutating func finish(_ list: PropertyList) -> Encoded {
        let isUnchanged = !hasChanged && !output.hasConverted
        return Encoded(
            list: isUnchanged ? list : output.finishWithFacts(), isUnchanged: isUnchanged,
            isExact: isExact && !output.hasConverted)
    }

    private borrowing func value(_ index: Int) -> PropertyList { PropertyList(document: document, index: index) }

    // MARK: - Values

    /// - Parameter depth: how many containers the value is in.
    private mutating func write(
        _ typeIndex: Int, _ index: Int, depth: Int
    ) throws(TypeError) {
        let type = tables.nodes + typeIndex
        let node = nodes[index]
        if node.head == type.pointee.plainHead { return output.add(node, of: document) }
        if type.pointee.isOptional, document.isNil(index) {
            if node.kind == .null { hasChanged = true } else { isExact = false }
            return output.addText("$null")
        }
        switch type.pointee.shape {
        case .array: try writeArray(typeIndex, type.pointee, index, depth: depth)
        case .structure, .variant, .dictionary:
            if type.pointee.shape == .variant, node.kind != .dictionary { throw wrongKind(type.pointee, index) }
            try output.check(index, of: document, .dictionary, depth)
            try writeContainer(type.pointee, index, depth: depth &+ 1)
        case .any:
            try TypeLimits.checkAny(value(index), depth)
            output.add(value(index))
        case .swift: try writeSwift(plan.swiftTypes[Int(type.pointee.operand)], index)
        default: try output.addScalar(index, of: document, type.pointee, plan)
        }
    }

    private borrowing func wrongKind(_ type: TypePlan.Node, _ index: Int) -> TypeError {
        plan.variantTypes[Int(type.operand)].wrongKind(value(index))
    }

    private mutating func writeContainer(
        _ type: TypePlan.Node, _ index: Int, depth: Int
    ) throws(TypeError) {
        switch type.shape {
        case .structure: try writeStructure(Int(type.operand), index, depth: depth)
        case .variant: try writeVariant(type, index, depth: depth)
        default: try writeDictionary(type, index, depth: depth)
        }
    }

    private mutating func writeSwift(_ type: SwiftType, _ index: Int) throws(TypeError) {
        let encoded = try type.encode(value(index))
        (hasChanged, isExact) = (true, false)
        output.add(encoded)
    }

    // MARK: - Arrays and dictionaries

    private mutating func writeArray(
        _ typeIndex: Int, _ type: TypePlan.Node, _ index: Int, depth: Int
    ) throws(TypeError) {
        let count = Int(nodes[index].count)
        // An empty table of Lua comes as a dictionary, even if it was meant as an array.
        let isEmptyTable = nodes[index].kind == .dictionary && count == 0
        try output.check(index, of: document, isEmptyTable ? .dictionary : .array, depth)
        if isEmptyTable { (hasChanged, isExact) = (true, false) }
        try plan.checkLength(count, type)
        let header = output.begin(.array)
        var position = index &+ 1
        for number in 0..<count {
            do throws(TypeError) {
                try write(Int(type.operand), position, depth: depth &+ 1)
            } catch {
                throw error.placed(at: .index(number))
            }
            position &+= nodes[position].span
        }
        output.end(header, count: count)
    }

    private mutating func writeDictionary(
        _ type: TypePlan.Node, _ index: Int, depth: Int
    ) throws(TypeError) {
        let header = output.begin(.dictionary)
        let first = keys.count
        for slot in document.keys(ofDictionaryAt: index) {
            keep(output.stored(nodes[slot], of: document), header)
            do throws(TypeError) {
                try write(Int(type.operand), index &+ nodes[slot].distance, depth: depth)
            } catch {
                throw error.placed(at: .key(document.text(of: nodes[slot])))
            }
        }
        end(header, from: first)
    }

    /// Holds a key back until its dictionary ends; its value is written next.
    private mutating func keep(_ key: kv_node, _ header: Int) {
        var key = key
        key.distance = output.nodes.count &- header
        keys.append(key)
    }

    /// Ends a dictionary whose keys, from `first` on, were kept in their order.
    private mutating func end(_ header: Int, from first: Int) {
        let count = keys.count &- first
        if let base = keys.base { output.nodes.append(UnsafeBufferPointer(start: base + first, count: count)) }
        keys.count = first
        output.end(header, count: count)
    }

    // MARK: - Structs

    /// A struct's fields under their keys.
    private mutating func writeStructure(
        _ structureIndex: Int, _ index: Int, depth: Int
    ) throws(TypeError) {
        let structure = tables.structures[structureIndex]
        let first = keys.count
        let stranger = findFields(of: structure, index)
        let header = output.begin(.dictionary)
        let firstKey = keys.count
        let shift = output.shift(of: structure.keys, structureIndex, tables)
        var fault = FirstFault()
        for number in 0..<structure.count {
            let field = tables.fields + (structure.first &+ number)
            let key = field.pointee.key
            guard fault.isAfter(field.pointee) else { continue }
            let value = given(first &+ Int(field.pointee.rank), index)
            let content = content(of: field, value)
            if content == .nothing { continue }
            let name = tables.names[structure.first &+ Int(field.pointee.rank)]
            guard content != .missing else {
                // A key that no field has is a misspelling, and tells more than that a field is missing.
                let error = stranger.map { unknownField($0, of: structureIndex) }
                fault.note(error ?? missing(field, of: structureIndex), field.pointee)
                continue
            }
            if !structure.isPlain {
                output.sharedBytes &+= max(0, Int(key.count &- field.pointee.nameLength))
                if compareBytes(tables.bytes(key), tables.bytes(name)) != 0 { hasChanged = true }
            }
            keys.append(
                kv_node(
                    keyTo: output.nodes.count &- header, count: UInt32(truncatingIfNeeded: key.count),
                    payload: UInt64(truncatingIfNeeded: shift &+ Int(key.start))))
            do throws(TypeError) {
                try write(Int(field.pointee.node), value, depth: depth)
            } catch {
                fault.note(error.placed(at: .key(tables.text(name))), field.pointee)
            }
        }
        try fault.check()
        if let stranger { throw unknownField(stranger, of: structureIndex) }
        noteTransients(of: structure, from: first)
        end(header, from: firstKey)
        keys.count = first
    }

    /// The node of a field's value in the struct that is given at `index`; -1 for none.
    private borrowing func given(_ slot: Int, _ index: Int) -> Int {
        let distance = keys[slot].distance
        return distance > 0 ? index &+ distance : -1
    }

    private borrowing func missing(_ field: UnsafePointer<TypePlan.Field>, of structureIndex: Int) -> TypeError {
        let declared = plan.structureTypes[structureIndex].fields[Int(field.pointee.declaration)]
        return .missingField(declared.name, declared.type)
    }

    private borrowing func unknownField(_ slot: Int, of structureIndex: Int) -> TypeError {
        let type = plan.structureTypes[structureIndex]
        return .unknownField(document.text(of: nodes[slot]), of: type.name, among: type.fields.map(\.name))
    }

    /// Notes that a transient field's given value is lost, and that decoding fills in its default.
    private mutating func noteTransients(of structure: TypePlan.Structure, from first: Int) {
        for number in structure.count..<structure.total {
            let field = tables.fields + (structure.first &+ number)
            let isGiven = keys[first &+ Int(field.pointee.rank)].distance > 0
            if isGiven { hasChanged = true }
            if isGiven || field.pointee.defaultIndex >= 0 { isExact = false }
        }
    }

    private enum Content {
        case nothing, given, missing
    }

    /// What to write under a field's key.
    private mutating func content(of field: UnsafePointer<TypePlan.Field>, _ index: Int) -> Content {
        if index >= 0, !(field.pointee.isOptional && document.isNil(index)) { return .given }
        if index >= 0 { (hasChanged, isExact) = (true, false) }
        guard field.pointee.defaultIndex >= 0 else { return field.pointee.isOptional ? .nothing : .missing }
        isExact = false
        return .nothing
    }

    /// Notes the keys of the fields in the given value, in the order of the fields' names; gives the slot of the first
    /// key that no field has.
    private mutating func findFields(of structure: TypePlan.Structure, _ index: Int) -> Int? {
        let slots = document.keys(ofDictionaryAt: index)
        var slot = slots.lowerBound
        var stranger: Int?
        keys.reserve(2 &* structure.total)
        for rank in 0..<structure.total {
            let name = tables.bytes(tables.names[structure.first &+ rank])
            var order = 1
            while slot < slots.upperBound {
                order = compareBytes(document.buffer(of: nodes[slot]), name)
                if order >= 0 { break }
                if stranger == nil { stranger = slot }
                slot &+= 1
            }
            let isFound = slot < slots.upperBound && order == 0
            keys.append(isFound ? nodes[slot] : kv_node(kind: .null))
            if isFound { slot &+= 1 }
        }
        return stranger ?? (slot < slots.upperBound ? slot : nil)
    }

    // MARK: - Enums with associated values

    /// The given case.
    private mutating func writeVariant(
        _ type: TypePlan.Node, _ index: Int, depth: Int
    ) throws(TypeError) {
        let (slot, structure) = try givenCase(type, index)
        let values = index &+ nodes[slot].distance
        let header = output.begin(.dictionary)
        let firstKey = keys.count
        keep(output.stored(nodes[slot], of: document), header)
        do throws(TypeError) {
            try output.check(values, of: document, .dictionary, depth)
            try writeStructure(structure, values, depth: depth &+ 1)
        } catch {
            throw error.placed(at: .key(document.text(of: nodes[slot])))
        }
        end(header, from: firstKey)
    }

    /// The key of the one case that is given, and the struct of its values.
    private borrowing func givenCase(
        _ type: TypePlan.Node, _ index: Int
    ) throws(TypeError) -> (slot: Int, structure: Int) {
        var found: (slot: Int, structure: Int)?
        let slots = document.keys(ofDictionaryAt: index)
        for slot in slots {
            guard let structure = tables.structure(ofCase: document.buffer(of: nodes[slot]), type) else {
                let variant = plan.variantTypes[Int(type.operand)]
                let name = document.text(of: nodes[slot])
                throw variant.unknownCase(name)
            }
            found = (slot, structure)
        }
        guard slots.count == 1, let found else {
            throw plan.variantTypes[Int(type.operand)].wrongCount(slots.count)
        }
        return found
    }
}

extension PropertyList {
    /// Whether this is `other`, or an empty table of Lua where `other` is an empty array.
    func means(_ other: PropertyList) -> Bool {
        self == other || (kind == .dictionary && other.kind == .array && count == 0 && other.count == 0)
    }
}
