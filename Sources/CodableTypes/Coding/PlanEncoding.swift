internal import CKVCodable
internal import PropertyLists

/// From the program form to the stored form, over the value stored now, in one walk beside a plan.
///
/// Of several faults it reports the one that Swift would find, as ``PlanDecoding`` does. Recursion is bounded by
/// ``TypeLimits``; for the pointers, see ``PlanDecoding``.
struct PlanEncoding: ~Copyable {
    /// The result for a value in program form.
    struct Encoded {
        /// The stored form: the value itself where its two forms are the same.
        let list: PropertyList
        let isUnchanged: Bool
        let droppedElements: Int
        /// Whether decoding the stored form gives exactly the given value.
        let isExact: Bool
    }

    private let plan: TypePlan
    private let tables: TypePlan.View
    private let document: Document
    private let nodes: UnsafePointer<kv_node>
    /// The document stored now; where there is none, any other: no index of a node in it is handed on then.
    private let old: Document
    private var output: PlanOutput
    /// For each struct that is being written, the keys of its fields in the given value, in the order of their names,
    /// with a distance of 0 for none; for it and for each dictionary that is being written, the keys written so far.
    private var keys = GrowableBuffer<kv_node>()
    private var droppedElements = 0
    private var hasChanged = false
    private var isExact = true

    /// The stored form of a value of the plan's node `type`.
    ///
    /// - Throws: the first fault, with its path from the value.
    static func encoded(
        _ list: PropertyList, over stored: PropertyList?, _ plan: TypePlan, as type: Int
    ) throws(TypeError) -> Encoded {
        defer {
            withExtendedLifetime(list) {}
            withExtendedLifetime(stored) {}
            withExtendedLifetime(plan) {}
        }
        var encoding = PlanEncoding(plan, list, over: stored ?? list)
        if let stored { encoding.output.allowParts(of: stored.document) }
        do throws(TypeError) {
            try encoding.write(type, list.index, over: stored?.index, depth: 0)
        } catch {
            try TypeLimits.check(list)
            throw encoding.output.hasRoom ? error : .tooLarge(plan.form)
        }
        return encoding.finish(list)
    }

    private init(_ plan: TypePlan, _ list: borrowing PropertyList, over stored: borrowing PropertyList) {
        self.plan = plan
        tables = plan.view
        document = list.document
        nodes = document.nodes
        old = stored.document
        output = PlanOutput(tables, list)
    }

    private mutating func finish(_ list: PropertyList) -> Encoded {
        let isUnchanged = !hasChanged && !output.hasConverted
        return Encoded(
            list: isUnchanged ? list : output.finishWithFacts(), isUnchanged: isUnchanged,
            droppedElements: droppedElements, isExact: isExact && !output.hasConverted)
    }

    private borrowing func value(_ index: Int) -> PropertyList { PropertyList(document: document, index: index) }

    private borrowing func stored(_ index: Int) -> PropertyList { PropertyList(document: old, index: index) }

    // MARK: - Values

    /// - Parameters:
    ///   - stored: the node of the stored value that the new one replaces.
    ///   - depth: how many containers the value is in.
    private mutating func write(
        _ typeIndex: Int, _ index: Int, over stored: Int?, depth: Int
    ) throws(TypeError) {
        let type = tables.nodes + typeIndex
        let node = nodes[index]
        if node.head == type.pointee.plainHead { return output.add(node, of: document) }
        if type.pointee.isOptional, document.isNil(index) {
            if node.kind == .null { hasChanged = true } else { isExact = false }
            return output.addText("$null")
        }
        switch type.pointee.shape {
        case .array: try writeArray(typeIndex, type.pointee, index, over: stored, depth: depth)
        case .structure, .variant, .dictionary:
            if type.pointee.shape == .variant, node.kind != .dictionary { throw wrongKind(type.pointee, index) }
            try output.check(index, of: document, .dictionary, depth)
            try writeContainer(type.pointee, index, over: stored, depth: depth &+ 1)
        case .any:
            try TypeLimits.checkAny(value(index), depth)
            output.add(value(index))
        case .swift: try writeSwift(plan.swiftTypes[Int(type.pointee.operand)], index, over: stored)
        default: try output.addScalar(index, of: document, type.pointee, plan)
        }
    }

    private borrowing func wrongKind(_ type: TypePlan.Node, _ index: Int) -> TypeError {
        plan.variantTypes[Int(type.operand)].wrongKind(value(index))
    }

    private mutating func writeContainer(
        _ type: TypePlan.Node, _ index: Int, over stored: Int?, depth: Int
    ) throws(TypeError) {
        switch type.shape {
        case .structure: try writeStructure(Int(type.operand), index, over: stored, depth: depth)
        case .variant: try writeVariant(type, index, over: stored, depth: depth)
        default: try writeDictionary(type, index, over: stored, depth: depth)
        }
    }

    private mutating func writeSwift(_ type: SwiftType, _ index: Int, over stored: Int?) throws(TypeError) {
        let encoded = try type.encode(value(index), over: stored.map { self.stored($0) })
        (hasChanged, isExact) = (true, false)
        droppedElements += encoded.droppedElements
        output.add(encoded.list)
    }

    // MARK: - Arrays and dictionaries

    private mutating func writeArray(
        _ typeIndex: Int, _ type: TypePlan.Node, _ index: Int, over stored: Int?, depth: Int
    ) throws(TypeError) {
        let count = Int(nodes[index].count)
        // An empty table of Lua comes as a dictionary, even if it was meant as an array.
        let isEmptyTable = nodes[index].kind == .dictionary && count == 0
        try output.check(index, of: document, isEmptyTable ? .dictionary : .array, depth)
        if isEmptyTable { (hasChanged, isExact) = (true, false) }
        try plan.checkLength(count, type)
        let sources = type.keepsUnknown ? matches(typeIndex, type, index, over: stored) : []
        let header = output.begin(.array)
        var position = index &+ 1
        for number in 0..<count {
            let source = number < sources.count ? sources[number] : nil
            do throws(TypeError) {
                try write(Int(type.operand), position, over: source, depth: depth &+ 1)
            } catch {
                throw error.placed(at: .index(number))
            }
            position &+= nodes[position].span
        }
        output.end(header, count: count)
    }

    /// For each new element the node of the stored one that it came from; none where no element can keep anything.
    private mutating func matches(
        _ typeIndex: Int, _ type: TypePlan.Node, _ index: Int, over stored: Int?
    ) -> [Int?] {
        guard let stored = stored.map({ self.stored($0) }), stored.kind == .array else { return [] }
        let (plan, element) = (plan, Int(type.operand))
        let elements = Array(stored.elements)
        let known: [PropertyList?]
        if typeIndex == plan.root, plan.isPure, let all = stored.notedProgramForm(plan) {
            known = Array(all.elements)
        } else if let all = try? PlanDecoding.decoded(stored, plan, as: typeIndex) {
            if !all.leavesOut, plan.defaults.isEmpty { return [] }
            known = Array(all.list.elements)
        } else {
            known = elements.map { try? PlanDecoding.decoded($0, plan, as: element).list }
        }
        let matching = ArrayMatching(new: Array(value(index).elements), known: known) { number in
            (try? PlanDecoding.decoded(elements[number], plan, as: element))?.leavesOut ?? false
        }
        droppedElements += matching.dropped
        return matching.sources.map { $0.map { elements[$0].index } }
    }

    private mutating func writeDictionary(
        _ type: TypePlan.Node, _ index: Int, over stored: Int?, depth: Int
    ) throws(TypeError) {
        let header = output.begin(.dictionary)
        let first = keys.count
        for slot in document.keys(ofDictionaryAt: index) {
            let key = document.buffer(of: nodes[slot])
            let source = type.keepsUnknown ? stored.flatMap { old.index(ofUTF8Key: key, inValueAt: $0) } : nil
            keep(output.stored(nodes[slot], of: document), header)
            do throws(TypeError) {
                try write(Int(type.operand), index &+ nodes[slot].distance, over: source, depth: depth)
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

    /// A struct's fields under their keys, and between them the keys of the stored dictionary that no field has.
    private mutating func writeStructure(
        _ structureIndex: Int, _ index: Int, over stored: Int?, depth: Int
    ) throws(TypeError) {
        let structure = tables.structures[structureIndex]
        let first = keys.count
        let stranger = findFields(of: structure, index)
        let header = output.begin(.dictionary)
        let firstKey = keys.count
        let shift = output.shift(of: structure.keys, structureIndex, tables)
        var unknown = UnknownKeys(of: stored, in: old)
        var fault = FirstFault()
        for number in 0..<structure.count {
            let field = tables.fields + (structure.first &+ number)
            let key = field.pointee.key
            while let slot = unknown.next(before: tables.bytes(key), in: old) { keepStored(slot, of: stored, header) }
            let source = unknown.value
            guard fault.isAfter(field.pointee) else { continue }
            let value = given(first &+ Int(field.pointee.rank), index)
            let content = content(of: field, value, over: source)
            if content == .nothing { continue }
            let name = tables.names[structure.first &+ Int(field.pointee.rank)]
            guard content != .missing else {
                // A key that no field has is a misspelling, and tells more than that a field is missing.
                let error = stranger.map { unknownField($0, of: structureIndex) }
                fault.note(error ?? missing(field, of: structureIndex), field.pointee)
                continue
            }
            if !structure.isPlain { output.sharedBytes &+= max(0, Int(key.count &- field.pointee.nameLength)) }
            keys.append(
                kv_node(
                    keyTo: output.nodes.count &- header, count: UInt32(truncatingIfNeeded: key.count),
                    payload: UInt64(truncatingIfNeeded: shift &+ Int(key.start))))
            do throws(TypeError) {
                try writeField(field, content, value, over: source, depth: depth)
            } catch {
                fault.note(error.placed(at: .key(tables.text(name))), field.pointee)
            }
        }
        try fault.check()
        if let stranger { throw unknownField(stranger, of: structureIndex) }
        while let slot = unknown.next() { keepStored(slot, of: stored, header) }
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

    /// Notes that a transient field's given value is lost, and that decoding fills in its default. Keys are not names.
    private mutating func noteTransients(of structure: TypePlan.Structure, from first: Int) {
        if !structure.isPlain { hasChanged = true }
        for number in structure.count..<structure.total {
            let field = tables.fields + (structure.first &+ number)
            let isGiven = keys[first &+ Int(field.pointee.rank)].distance > 0
            if isGiven || field.pointee.defaultIndex >= 0 { isExact = false }
        }
    }

    /// The source of the value under a field's key.
    private enum Content {
        case nothing, given, standard, missing
    }

    /// The source of the value to write under a field's key: its default only where the stored dictionary has its key.
    private mutating func content(
        of field: UnsafePointer<TypePlan.Field>, _ index: Int, over source: Int?
    ) -> Content {
        guard index >= 0, !(field.pointee.isOptional && document.isNil(index)) else {
            if index >= 0 { (hasChanged, isExact) = (true, false) }
            guard field.pointee.defaultIndex >= 0 else { return field.pointee.isOptional ? .nothing : .missing }
            isExact = false
            return source == nil ? .nothing : .standard
        }
        guard source == nil, field.pointee.defaultIndex >= 0, isDefault(index, of: field) else { return .given }
        hasChanged = true
        return .nothing
    }

    private mutating func isDefault(_ index: Int, of field: UnsafePointer<TypePlan.Field>) -> Bool {
        let standard = field.pointee.scalarDefault
        guard standard.kind != .null else {
            let (list, standard) = (value(index), self.standard(of: field))
            if list.kind != standard.kind { isExact = false }
            return list.means(standard)
        }
        let node = nodes[index]
        guard node.head == standard.head, node.hasBytes else {
            return node.head == standard.head && node.payload == standard.payload
        }
        return compareBytes(document.buffer(of: node), tables.bytes(standard)) == 0
    }

    /// The default of a field that has one.
    private borrowing func standard(of field: UnsafePointer<TypePlan.Field>) -> PropertyList {
        plan.defaults[Int(field.pointee.defaultIndex)]
    }

    private mutating func writeField(
        _ field: UnsafePointer<TypePlan.Field>, _ content: Content, _ index: Int, over source: Int?, depth: Int
    ) throws(TypeError) {
        if content == .given { return try write(Int(field.pointee.node), index, over: source, depth: depth) }
        // A default is in program form, as the given value is, but in a document of its own.
        hasChanged = true
        let encoded = try PlanEncoding.encoded(
            standard(of: field), over: source.map { stored($0) }, plan, as: Int(field.pointee.node))
        droppedElements += encoded.droppedElements
        output.add(encoded.list)
        try output.checkRoom()
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

    /// Takes over an entry of the stored dictionary as it is.
    private mutating func keepStored(_ slot: Int, of stored: Int?, _ header: Int) {
        guard let stored else { return }
        hasChanged = true
        let key = old.nodes[slot]
        keep(output.stored(key, of: old), header)
        output.add(self.stored(stored &+ key.distance))
    }

    // MARK: - Enums with associated values

    /// The given case over the stored one; stored keys that are no case's stay.
    private mutating func writeVariant(
        _ type: TypePlan.Node, _ index: Int, over stored: Int?, depth: Int
    ) throws(TypeError) {
        let (slot, structure) = try givenCase(type, index)
        let name = document.buffer(of: nodes[slot])
        let values = index &+ nodes[slot].distance
        let header = output.begin(.dictionary)
        let firstKey = keys.count
        var unknown = UnknownKeys(of: stored, in: old)
        while let slot = unknown.next(before: name, in: old) {
            keepStored(slot, of: stored, header, unlessCaseOf: type)
        }
        let source = unknown.value
        keep(output.stored(nodes[slot], of: document), header)
        do throws(TypeError) {
            try output.check(values, of: document, .dictionary, depth)
            try writeStructure(structure, values, over: source, depth: depth &+ 1)
        } catch {
            throw error.placed(at: .key(document.text(of: nodes[slot])))
        }
        while let slot = unknown.next() { keepStored(slot, of: stored, header, unlessCaseOf: type) }
        end(header, from: firstKey)
    }

    private mutating func keepStored(
        _ slot: Int, of stored: Int?, _ header: Int, unlessCaseOf type: TypePlan.Node
    ) {
        let isCase = tables.structure(ofCase: old.buffer(of: old.nodes[slot]), type) != nil
        if !isCase { keepStored(slot, of: stored, header) }
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

/// A walk over the keys of a stored dictionary, beside a walk over known keys in the same order.
private struct UnknownKeys {
    private let header: Int
    private var slot = 0
    private var end = 0
    /// The node of the value of the known key that the walk came to last; nil where the dictionary has no such key.
    private(set) var value: Int?

    /// - Parameter header: the dictionary's node; another kind of value, or none, has no keys.
    init(of header: Int?, in document: Document) {
        self.header = header ?? 0
        guard let header, document.nodes[header].kind == .dictionary else { return }
        let keys = document.keys(ofDictionaryAt: header)
        (slot, end) = (keys.lowerBound, keys.upperBound)
    }

    /// The next key before a known one; nil once the walk is at that one, whose value it has then, or past it.
    mutating func next(before key: UnsafeBufferPointer<UInt8>, in document: Document) -> Int? {
        value = nil
        guard slot < end else { return nil }
        let order = compareBytes(document.buffer(of: document.nodes[slot]), key)
        if order > 0 { return nil }
        slot &+= 1
        if order < 0 { return slot &- 1 }
        value = header &+ document.nodes[slot &- 1].distance
        return nil
    }

    /// The next key behind the last known one.
    mutating func next() -> Int? {
        guard slot < end else { return nil }
        slot &+= 1
        return slot &- 1
    }
}

extension PropertyList {
    /// Whether this is `other`, or an empty table of Lua where `other` is an empty array.
    func means(_ other: PropertyList) -> Bool {
        self == other || (kind == .dictionary && other.kind == .array && count == 0 && other.count == 0)
    }
}
