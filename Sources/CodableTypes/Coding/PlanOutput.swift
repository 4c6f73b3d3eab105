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
    /// Where the texts of each struct begin in the bytes; -1 where they are not there yet.
    private var textStarts: [Int]
    /// How many containers are open, and how many were at most.
    private var openContainers = 0
    private var depth = 0
    private var hasUIDLikeDictionary = false
    /// Whether a scalar was written in another form than it was given in.
    private(set) var hasConverted = false
    /// Whether a container was taken over as it was, so that what is in it is not known.
    private var holdsForeignContainers = false

    private let nodeLimit: Int
    private let byteLimit: Int

    /// - Parameters:
    ///   - source: what the document is made of, which tells how large it may become.
    ///   - old: what else parts of it are taken from.
    init(_ plan: TypePlan, _ source: Document, _ old: Document? = nil) {
        // No document is as large as half of what these sums hold.
        nodeLimit = min(
            source.nodeCount &+ (old?.nodeCount ?? 0) &+ TypeLimits.addedNodes, PropertyListLimits.nodes / 2)
        byteLimit = min(
            source.byteCount &+ (old?.byteCount ?? 0) &+ TypeLimits.addedBytes, PropertyListLimits.length / 2)
        textStarts = Array(repeating: -1, count: plan.view.structureCount)
        nodes.reserve(source.nodeCount)
        // Keys may be a little longer than names, and names than keys.
        bytes.reserve(source.byteCount &+ 48)
    }

    consuming func finish() -> PropertyList {
        PropertyList(document: Document(nodes: &nodes, bytes: &bytes), index: 0)
    }

    /// The document with what is known of it, which spares whoever is to store it a look.
    consuming func finishWithFacts() -> PropertyList {
        guard !holdsForeignContainers else { return finish() }
        let facts = DocumentFacts(
            of: nodes.contents, bytes.contents, depth: depth, hasUIDLikeDictionary: hasUIDLikeDictionary)
        return PropertyList(document: Document(nodes: &nodes, bytes: &bytes, facts: facts), index: 0)
    }

    /// How far the part of a plan's text is from its place in the bytes: the part is a struct's names, or its keys.
    @inline(__always)
    mutating func shift(of part: TypePlan.Text, _ structure: Int, _ plan: TypePlan.View) -> Int {
        if textStarts[structure] < 0 {
            textStarts[structure] = bytes.count
            bytes.append(plan.bytes(part))
        }
        return textStarts[structure] &- Int(part.start)
    }

    // MARK: - Values

    /// Appends a value that is no container.
    @inline(__always)
    mutating func add(_ node: kv_node, of document: DocumentView) {
        guard node.hasBytes else { return nodes.append(node) }
        nodes.append(stored(node, of: document))
    }

    /// The node with its bytes copied.
    @inline(__always)
    mutating func stored(_ node: kv_node, of document: DocumentView) -> kv_node {
        var copy = node
        copy.payload = UInt64(truncatingIfNeeded: bytes.count)
        bytes.append(document.buffer(of: node))
        return copy
    }

    /// Appends a scalar or a raw value in the form that its type's node has for it; false where it is not of the type.
    @inline(__always)
    mutating func addScalar(
        _ index: Int, of document: DocumentView, _ type: UnsafePointer<TypePlan.Node>, _ plan: Unmanaged<TypePlan>
    ) -> Bool {
        let node = document.nodes[index]
        switch type.pointee.shape {
        case .string where node.kind == .string && !type.pointee.isLimited: add(node, of: document)
        case .integer where node.kind == .integer && type.pointee.allows(Int64(bitPattern: node.payload)):
            nodes.append(node)
        case .real where node.kind == .real && !type.pointee.isLimited: nodes.append(node)
        case .boolean where node.kind == .boolean: nodes.append(node)
        case .date where node.kind == .date: nodes.append(node)
        default:  // Not simply of its type's kind.
            let value = document.list(at: index)
            guard let form = plan._withUnsafeGuaranteedRef({ $0.form(of: value, type.pointee) }) else { return false }
            if case .same = form {} else { hasConverted = true }
            add(form, of: value)
        }
        return true
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

    /// Appends a container's header; gives its place.
    @inline(__always)
    mutating func begin(_ kind: PropertyListKind) -> Int {
        nodes.append(kv_node(kind: kind))
        openContainers &+= 1
        if openContainers > depth { depth = openContainers }
        return nodes.count &- 1
    }

    @inline(__always)
    mutating func end(_ header: Int, count: Int) {
        openContainers &-= 1
        // The last node of a dictionary is its last key.
        if count == 1, nodes[header].kind == .dictionary, nodes[nodes.count &- 1].count == 6 {
            hasUIDLikeDictionary = true
        }
        nodes[header].count = UInt32(truncatingIfNeeded: count)
        nodes[header].payload = UInt64(truncatingIfNeeded: nodes.count &- header)
    }

    /// Whether the document has room for more: a type's defaults can make it larger than what it is made from.
    var hasRoom: Bool { nodes.count < nodeLimit && bytes.count < byteLimit }
}
