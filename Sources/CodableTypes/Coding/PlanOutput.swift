internal import CKVCodable
internal import PropertyLists

/// The document that decoding or encoding by a plan makes: values are appended where they stay, the keys of a
/// dictionary behind them, in their order.
///
/// The names of a struct's fields, or their keys, are written once for the whole document, however many values have
/// them.
struct PlanOutput: ~Copyable {
    var nodes = GrowableBuffer<kv_node>()
    var bytes = GrowableBuffer<UInt8>()
    /// The offset of each struct's texts in the bytes; -1 where they are not there yet.
    private var textStarts = GrowableBuffer<Int>()
    /// How many containers are open, and how many were at most.
    private var openContainers = 0
    private var depth = 0
    private var hasUIDLikeDictionary = false
    /// Whether a scalar was written in another form than it was given in.
    private(set) var hasConverted = false
    /// Whether a container was taken over as it was, so that its values are not known.
    private var holdsForeignContainers = false

    /// Bytes of keys and defaults beyond the source's that are in `bytes` once but belong to several values: a file of
    /// the document, and its Lua strings, have them once for each value.
    var sharedBytes = 0

    private var nodeLimit: Int
    private var byteLimit: Int

    /// - Parameter source: the value that the document is made of, which limits its size.
    init(_ plan: TypePlan.View, _ source: borrowing PropertyList) {
        let document = source.document
        nodeLimit = min(document.nodeCount &+ TypeLimits.addedNodes, PropertyListLimits.nodes / 2)
        byteLimit = min(document.byteCount &+ TypeLimits.addedBytes, PropertyListLimits.length / 2)
        for _ in 0..<plan.structureCount { textStarts.append(-1) }
        guard source.kind.isContainer else { return }
        nodes.reserve(source.node.span)
        // Keys may be a little longer than names, and names than keys.
        bytes.reserve(source.isWholeDocument ? document.byteCount &+ 48 : 0)
    }

    /// The document; the output is empty afterwards.
    mutating func finish() -> PropertyList {
        PropertyList(document: Document(nodes: &nodes, bytes: &bytes), index: 0)
    }

    /// The document with the facts known of it, which spares a store that takes it a look at each value.
    mutating func finishWithFacts() -> PropertyList {
        guard !holdsForeignContainers else { return finish() }
        let facts = DocumentFacts(
            of: nodes.contents, bytes.contents, depth: depth, hasUIDLikeDictionary: hasUIDLikeDictionary)
        return PropertyList(document: Document(nodes: &nodes, bytes: &bytes, facts: facts), index: 0)
    }

    /// The distance from a part of a plan's text to its copy in the bytes: the part is a struct's names, or its keys.
    mutating func shift(of part: TypePlan.Text, _ structure: Int, _ plan: TypePlan.View) -> Int {
        if textStarts[structure] < 0 {
            textStarts[structure] = bytes.count
            bytes.append(plan.bytes(part))
        }
        return textStarts[structure] &- Int(part.start)
    }

    // MARK: - Values

    /// Appends a value that is no container.
    mutating func add(_ node: kv_node, of document: Document) {
        guard node.hasBytes else { return nodes.append(node) }
        nodes.append(stored(node, of: document))
    }

    /// The node with its bytes copied.
    mutating func stored(_ node: kv_node, of document: Document) -> kv_node {
        var copy = node
        copy.payload = UInt64(truncatingIfNeeded: bytes.count)
        bytes.append(document.buffer(of: node))
        return copy
    }

    /// Appends a scalar or a raw value in the form that its type has for it.
    mutating func addScalar(
        _ index: Int, of document: Document, _ type: TypePlan.Node, _ plan: TypePlan
    ) throws(TypeError) {
        let node = document.nodes[index]
        switch type.shape {
        case .string where node.kind == .string && !type.isLimited: add(node, of: document)
        case .integer where node.kind == .integer && type.allows(Int64(bitPattern: node.payload)): nodes.append(node)
        case .strings where node.kind == .string && plan.view.hasRawText(document.buffer(of: node), type):
            add(node, of: document)
        case .integers where node.kind == .integer && plan.view.hasRawInteger(node, type): nodes.append(node)
        default:  // Not simply of its type's kind.
            let value = PropertyList(document: document, index: index)
            let form = try plan.form(of: value, type)
            if case .same = form {} else { hasConverted = true }
            add(form, of: value)
        }
    }

    /// Appends a value with all that is in it.
    mutating func add(_ list: PropertyList) {
        if list.kind.isContainer { holdsForeignContainers = true }
        list.copyNodes(to: &nodes, bytes: &bytes)
    }

    mutating func addText(_ text: StaticString) {
        nodes.append(
            kv_node(kind: .string, count: text.utf8CodeUnitCount, payload: UInt64(truncatingIfNeeded: bytes.count)))
        bytes.append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a value in the form that its type found for it.
    mutating func add(_ form: ScalarForm, of value: PropertyList) {
        switch form {
        case .same: add(value)
        case .integer(let number): nodes.append(kv_node(kind: .integer, payload: UInt64(bitPattern: number)))
        case .unsigned(let number):
            let kind: PropertyListKind = number > UInt64(Int64.max) ? .unsigned : .integer
            nodes.append(kv_node(kind: kind, payload: number))
        case .real(let number): nodes.append(kv_node(kind: .real, payload: number.bitPattern))
        case .string(var text):
            text.withUTF8 { utf8 in
                let start = UInt64(truncatingIfNeeded: bytes.count)
                nodes.append(kv_node(kind: .string, count: utf8.count, payload: start))
                bytes.append(utf8)
            }
        case .parts(let parts, let array):
            let header = begin(.array)
            for (part, element) in zip(parts, array.elements) { add(part, of: element) }
            end(header, count: parts.count)
        }
    }

    // MARK: - Containers

    /// Whether the document has room for more: a type's keys and defaults can make it larger than its source.
    var hasRoom: Bool { nodes.count < nodeLimit && bytes.count &+ sharedBytes < byteLimit }

    /// - Throws: an error that the walk replaces by ``TypeError/tooLarge(_:)``.
    func checkRoom() throws(TypeError) {
        if !hasRoom { throw TypeError(.limitExceeded, "") }
    }

    /// Checks, before a container is written, that the value is one of the kind, and that there is room for it.
    ///
    /// - Parameter depth: how many containers the value is in.
    func check(
        _ index: Int, of document: Document, _ kind: PropertyListKind, _ depth: Int
    ) throws(TypeError) {
        guard document.nodes[index].kind == kind else {
            let name = kind == .array ? "Array<Any>" : "Dictionary<String, Any>"
            throw .mismatch(name, PropertyList(document: document, index: index))
        }
        guard depth < TypeLimits.depth else { throw TypeLimits.tooDeep }
        try checkRoom()
    }

    /// Appends a container's header; gives its index.
    mutating func begin(_ kind: PropertyListKind) -> Int {
        nodes.append(kv_node(kind: kind))
        openContainers &+= 1
        if openContainers > depth { depth = openContainers }
        return nodes.count &- 1
    }

    mutating func end(_ header: Int, count: Int) {
        openContainers &-= 1
        // The last node of a dictionary is its last key.
        if count == 1, nodes[header].kind == .dictionary, nodes[nodes.count &- 1].count == 6 {
            hasUIDLikeDictionary = true
        }
        nodes[header].count = UInt32(truncatingIfNeeded: count)
        nodes[header].payload = UInt64(truncatingIfNeeded: nodes.count &- header)
    }
}
