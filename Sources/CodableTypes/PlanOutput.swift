internal import CKVCodable
internal import PropertyLists

/// The document that decoding or encoding by a plan makes: values are appended where they stay, the keys of a dictionary
/// behind them, in their order.
///
/// The names of a struct's fields, or their keys, are written once for the whole document, however many values have them.
struct PlanOutput: ~Copyable {
    var nodes = GrowableBuffer<kv_node>()
    var bytes = GrowableBuffer<UInt8>()
    /// Where the texts of each struct begin in the bytes; -1 where they are not there yet.
    private var textStarts: [Int]

    init(_ plan: TypePlan) {
        textStarts = Array(repeating: -1, count: plan.structureCount)
    }

    consuming func finish() -> PropertyList {
        PropertyList(document: Document(nodes: &nodes, bytes: &bytes), index: 0)
    }

    /// How far the part of a plan's text is from its place in the bytes: the part is a struct's names, or its keys.
    @inline(__always)
    mutating func shift(of part: TypePlan.Text, _ structure: Int, _ plan: TypePlan) -> Int {
        if textStarts[structure] < 0 {
            textStarts[structure] = bytes.count
            bytes.append(plan.bytes(part))
        }
        return textStarts[structure] &- Int(part.start)
    }

    // MARK: - Values

    /// Appends a value that is no container.
    @inline(__always)
    mutating func add(_ node: kv_node, of document: Document) {
        guard node.hasBytes else { return nodes.append(node) }
        nodes.append(stored(node, of: document))
    }

    /// The node with its bytes copied.
    @inline(__always)
    mutating func stored(_ node: kv_node, of document: Document) -> kv_node {
        var copy = node
        copy.payload = UInt64(truncatingIfNeeded: bytes.count)
        bytes.append(document.buffer(of: node))
        return copy
    }

    /// Appends a scalar or a raw value in the form that its type's node has for it; false where it is not of the type.
    @inline(__always)
    mutating func addScalar(_ value: PropertyList, _ type: UnsafePointer<TypePlan.Node>, _ plan: TypePlan) -> Bool {
        let node = value.node
        switch type.pointee.shape {
        case .string where node.kind == .string && !type.pointee.isLimited: add(node, of: value.document)
        case .integer where node.kind == .integer && type.pointee.allows(Int64(bitPattern: node.payload)):
            nodes.append(node)
        case .real where node.kind == .real && !type.pointee.isLimited: nodes.append(node)
        case .boolean where node.kind == .boolean: nodes.append(node)
        case .date where node.kind == .date: nodes.append(node)
        default:  // Not simply of its type's kind.
            guard let form = plan.form(of: value, type.pointee) else { return false }
            add(form, of: value)
        }
        return true
    }

    /// Appends a value with all that is in it.
    mutating func add(_ list: PropertyList) {
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
        return nodes.count &- 1
    }

    @inline(__always)
    mutating func end(_ header: Int, count: Int) {
        nodes[header].count = UInt32(truncatingIfNeeded: count)
        nodes[header].payload = UInt64(truncatingIfNeeded: nodes.count &- header)
    }

    /// Whether the document has room for more: a type's defaults can make it larger than what it is made from.
    var hasRoom: Bool { nodes.count < PropertyListLimits.nodes / 2 && bytes.count < Int(UInt32.max) }
}
