internal import CKVCodable
internal import PropertyLists

/// From the program form to the stored form, over what is stored now, in one walk beside a plan.
///
/// It gives up where something is wrong: ``EncodingCheck`` then says what. Recursion is bounded by ``TypeLimits``. For
/// the pointers, see ``Conformance``.
struct PlanEncoding: ~Copyable {
    let plan: TypePlan.View
    let owner: Unmanaged<TypePlan>
    let document: DocumentView
    let nodes: UnsafePointer<kv_node>
    /// What is stored now; where nothing is, any document: no place in it is named then.
    let old: DocumentView
    var output: PlanOutput
    /// For each struct that is being written, where the values of its fields are in the given value, in the order of
    /// their names; -1 for none.
    var given = GrowableBuffer<Int>()
    /// For each dictionary that is being written, its keys so far.
    var keys = GrowableBuffer<kv_node>()
    var droppedElements = 0
    /// Whether decoding what is written gives just what was given.
    var isExact = true
    /// What a Swift type's own code threw.
    private var failure: TypeError?

    /// The stored form of a value of the plan's node `type`; nil where it is not of the type.
    ///
    /// - Throws: what the code of a Swift type throws, without its place.
    static func encoded(
        _ list: PropertyList, over stored: PropertyList?, _ plan: TypePlan, as type: Int
    ) throws(TypeError) -> CodableType.Encoded? {
        defer {
            withExtendedLifetime(plan) {}
            withExtendedLifetime(list) {}
            withExtendedLifetime(stored) {}
        }
        var encoding = PlanEncoding(plan, list.document, stored?.document)
        if encoding.write(type, list.index, over: stored?.index ?? -1, depth: 0) {
            let isExact = encoding.isExact && !encoding.output.hasConverted && plan.isPure
            let encoded = encoding.finish()
            // A part of a document would keep all of it alive.
            if isExact, type == plan.root, list.isWholeDocument { encoded.list.noteProgramForm(list, plan) }
            return encoded
        }
        if let failure = encoding.failure { throw failure }
        return nil
    }

    private init(_ plan: TypePlan, _ document: Document, _ old: Document?) {
        self.plan = plan.view
        owner = Unmanaged.passUnretained(plan)
        self.document = DocumentView(document)
        nodes = document.nodes
        self.old = DocumentView(old ?? document)
        output = PlanOutput(plan, document, old)
    }

    private consuming func finish() -> CodableType.Encoded {
        let dropped = droppedElements
        return CodableType.Encoded(list: output.finishWithFacts(), droppedElements: dropped)
    }

    // MARK: - Values

    /// - Parameters:
    ///   - place: the node of the stored value that stands in the same place; -1 for none.
    ///   - depth: how many containers the value is in.
    mutating func write(_ typeIndex: Int, _ index: Int, over place: Int, depth: Int) -> Bool {
        let type = plan.nodes + typeIndex
        let node = nodes[index]
        if type.pointee.isOptional, node.kind == .null || node.kind == .string, document.isNil(index) {
            if node.kind != .null { isExact = false }
            output.addText("$null")
            return true
        }
        switch type.pointee.shape {
        case .structure, .variant, .array, .dictionary:
            return depth < TypeLimits.depth
                && writeContainer(typeIndex, type.pointee, index, over: place, depth: depth &+ 1)
        case .any:
            guard node.kind != .null, document.fits(index, below: depth) else { return false }
            output.add(document.list(at: index))
        case .swift:
            return writeSwift(
                owner._withUnsafeGuaranteedRef({ $0.swiftTypes[Int(type.pointee.operand)] }), index, over: place)
        default: return output.addScalar(index, of: document, type, owner)
        }
        return true
    }

    private mutating func writeContainer(
        _ typeIndex: Int, _ type: TypePlan.Node, _ index: Int, over place: Int, depth: Int
    ) -> Bool {
        guard output.hasRoom else { return false }
        let kind = nodes[index].kind
        if type.shape == .array { return writeArray(typeIndex, type, index, over: place, depth: depth) }
        guard kind == .dictionary else { return false }
        switch type.shape {
        case .structure: return writeStructure(Int(type.operand), index, over: place, depth: depth)
        case .variant: return writeVariant(type, index, over: place, depth: depth)
        default: return writeDictionary(type, index, over: place, depth: depth)
        }
    }

    private mutating func writeSwift(_ type: SwiftType, _ index: Int, over place: Int) -> Bool {
        do throws(TypeError) {
            let stored = place < 0 ? nil : old.list(at: place)
            let encoded = try type.encode(document.list(at: index), over: stored)
            droppedElements += encoded.droppedElements
            output.add(encoded.list)
            return true
        } catch {
            failure = error
            return false
        }
    }

    // MARK: - Arrays and dictionaries

    private mutating func writeArray(
        _ typeIndex: Int, _ type: TypePlan.Node, _ index: Int, over place: Int, depth: Int
    ) -> Bool {
        let count = Int(nodes[index].count)
        // An empty table of Lua is a dictionary, as long as nothing says that it is an array.
        guard nodes[index].kind == .array || nodes[index].kind == .dictionary && count == 0 else { return false }
        if nodes[index].kind != .array { isExact = false }
        if type.isLimited, !type.allows(Int64(count)) { return false }
        let sources = type.keepsUnknown && place >= 0 ? matches(typeIndex, type, index, over: place) : []
        let header = output.begin(.array)
        var position = index &+ 1
        for number in 0..<count {
            let source = number < sources.count ? sources[number] : -1
            guard write(Int(type.operand), position, over: source, depth: depth) else { return false }
            position &+= nodes[position].span
        }
        output.end(header, count: count)
        return true
    }

    /// For each new element the node of the stored one that it came from; -1 for none.
    private mutating func matches(_ typeIndex: Int, _ type: TypePlan.Node, _ index: Int, over place: Int) -> [Int] {
        let stored = old.list(at: place)
        guard stored.kind == .array else { return [] }
        let elements = Array(stored.elements)
        let element = Int(type.operand)
        let plan = owner.takeUnretainedValue()
        var known: [PropertyList?]
        let isRoot = typeIndex == plan.root && plan.isPure
        if let all = isRoot ? stored.notedProgramForm(plan) : nil {
            known = Array(all.elements)
        } else if let all = try? PlanDecoding.decoded(stored, plan, as: typeIndex) {
            known = Array(all.elements)
        } else {
            known = elements.map { try? PlanDecoding.decoded($0, plan, as: element) }
        }
        let matching = ArrayMatching(old: elements, new: Array(document.list(at: index).elements), known: known) {
            number in
            known[number] != nil && !Conformance.isKnown(elements[number], plan, as: element)
        }
        known = []
        droppedElements += matching.dropped
        return matching.sources.map { $0.map { elements[$0].index } ?? -1 }
    }

    private mutating func writeDictionary(
        _ type: TypePlan.Node, _ index: Int, over place: Int, depth: Int
    ) -> Bool {
        let header = output.begin(.dictionary)
        let first = keys.count
        for slot in document.keys(ofDictionaryAt: index) {
            let value = index &+ nodes[slot].distance
            let source =
                type.keepsUnknown && place >= 0
                ? old.value(of: document.buffer(of: nodes[slot]), inDictionaryAt: place) : -1
            keep(output.stored(nodes[slot], of: document), header)
            guard write(Int(type.operand), value, over: source, depth: depth) else { return false }
        }
        end(header, from: first)
        return true
    }

    /// Holds a key back until its dictionary ends; its value is written next.
    @inline(__always)
    mutating func keep(_ key: kv_node, _ header: Int) {
        var key = key
        key.distance = output.nodes.count &- header
        keys.append(key)
    }

    /// Ends a dictionary whose keys, from `first` on, were kept in their order.
    @inline(__always)
    mutating func end(_ header: Int, from first: Int) {
        let count = keys.count &- first
        if let base = keys.base { output.nodes.append(UnsafeBufferPointer(start: base + first, count: count)) }
        keys.count = first
        output.end(header, count: count)
    }
}
