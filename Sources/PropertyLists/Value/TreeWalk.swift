package import CKVCodable

/// A walk through a document from value to value, dictionaries in the order of their keys, without recursion.
///
/// ```swift
/// var walk = TreeWalk(of: list)
/// while let event = walk.next() { … }
/// ```
package struct TreeWalk: ~Copyable {
    package enum Event {
        /// A scalar, or an array or dictionary with nothing in it.
        case value(kv_node)
        /// An array or dictionary whose values follow.
        case begin(kv_node)
        case end(PropertyListKind)
    }

    private struct Frame: BitwiseCopyable {
        var header: Int
        /// The next element's node, or the next key's.
        var position: Int
        /// Behind the last of them.
        var end: Int
        var isDictionary: Bool
        var index: Int
    }

    package let document: Document
    /// The key of the value that comes now; nil in an array and at the root.
    package private(set) var key: kv_node?
    /// The node of that key.
    private(set) var keyPosition = 0
    /// The node of the value that came last.
    package private(set) var position = 0
    private var frames = GrowableBuffer<Frame>()
    private var pending: Int?

    package init(of list: PropertyList) {
        document = list.document
        pending = list.index
    }

    /// How many containers are open.
    var depth: Int { frames.count }

    package mutating func next() -> Event? {
        if let root = pending {
            pending = nil
            return visit(root)
        }
        guard frames.count > 0 else { return nil }
        let top = frames.count &- 1
        let frame = frames[top]
        guard frame.position < frame.end else {
            frames.count = top
            key = nil
            return .end(frame.isDictionary ? .dictionary : .array)
        }
        frames[top].index = frame.index &+ 1
        guard frame.isDictionary else {
            key = nil
            frames[top].position = frame.position &+ document.nodes[frame.position].span
            return visit(frame.position)
        }
        let entry = document.nodes[frame.position]
        key = entry
        keyPosition = frame.position
        frames[top].position = frame.position &+ 1
        return visit(frame.header &+ entry.distance)
    }

    private mutating func visit(_ position: Int) -> Event {
        self.position = position
        let node = document.nodes[position]
        guard node.kind.isContainer, node.count > 0 else { return .value(node) }
        let end = position &+ node.span
        let isDictionary = node.kind == .dictionary
        frames.append(
            Frame(
                header: position, position: isDictionary ? end &- Int(node.count) : position &+ 1, end: end,
                isDictionary: isDictionary, index: 0))
        return .begin(node)
    }

    /// The path of the value that came last.
    package var path: PropertyListPath {
        var steps: [PropertyListPath.Step] = []
        for level in 0..<frames.count where frames[level].index > 0 {
            let frame = frames[level]
            if frame.isDictionary {
                let text = document.buffer(of: document.nodes[frame.position - 1])
                steps.append(.key(String(decoding: text, as: UTF8.self)))
            } else {
                steps.append(.index(frame.index - 1))
            }
        }
        return PropertyListPath(steps)
    }
}
