// PropertyLists is the tree, one flat immutable document, with its readers and writers: XML, binary and OpenStep
// property lists, JSON, keyed archives. It knows no Codable, no file and no store.

public import CKVCodable

/// An immutable property-list value: a scalar, or an array or dictionary with all that is in it.
///
/// Values are views of one flat, reference-counted document (`kvcodable_nodes.h`): taking an element of an array or
/// the value of a key copies nothing and keeps the whole document alive; ``compacted()`` gives a copy of its own.
/// Safe to use from several threads at once.
///
/// Equality is exact: reals and dates by their bits, integer 1 is not real 1, keys and strings by their bytes.
///
/// ```swift
/// let window: PropertyList = ["width": 640, "tags": ["main"]]
/// print(window["width"].flatMap { Int($0) } ?? 0)  // 640
/// let wider = try window.setting(1280, at: ["width"])
/// print(wider)  // ["tags": ["main"], "width": 1280]
/// ```
public struct PropertyList: Sendable {
    @usableFromInline package let document: Document
    /// The value's node. Always a value node of the document.
    @usableFromInline package let index: Int

    @inlinable package init(document: Document, index: Int) {
        self.document = document
        self.index = index
    }

    @inlinable package var node: kv_node { document.nodes[index] }

    /// Whether the value is the whole document rather than a part of a larger one.
    package var isWholeDocument: Bool { index == 0 && node.span == document.nodeCount }

    /// The kind of the value: that of a scalar, array or dictionary.
    @inlinable public var kind: PropertyListKind { node.kind }

    /// A dictionary without entries.
    public static let emptyDictionary: PropertyList = {
        var nodes = GrowableBuffer<kv_node>()
        var bytes = GrowableBuffer<UInt8>()
        nodes.append(kv_node(kind: .dictionary, payload: 1))
        return PropertyList(document: Document(nodes: &nodes, bytes: &bytes), index: 0)
    }()

    /// Elements of an array, entries of a dictionary, bytes of a string or data; 0 for every other kind.
    public var count: Int { Int(node.count) }
}

// MARK: - Scalars: nil when the value is of another kind

extension PropertyList {
    /// Whether the value is null, which only memory can hold.
    public var isNull: Bool { kind == .null }

    /// True or false. A number is no boolean.
    public var boolean: Bool? { node.boolean }

    /// A whole number within `Int64`.
    public var integer: Int64? { node.integer }

    /// A whole number above `Int64.max`.
    public var unsigned: UInt64? { node.unsigned }

    /// A floating-point number, not finite ones among them. A whole number is none: see ``number``.
    public var real: Double? { node.real }

    /// A real, or a whole number as the nearest one.
    public var number: Double? { node.number }

    /// Seconds since 2001-01-01T00:00:00Z.
    public var date: Double? { kind == .date ? Double(bitPattern: node.payload) : nil }

    /// The number of the object that a keyed archive's reference means.
    public var uid: UInt32? { kind == .uid ? UInt32(truncatingIfNeeded: node.payload) : nil }

    /// A copy of a string.
    public var string: String? {
        kind == .string ? String(decoding: document.buffer(of: node), as: UTF8.self) : nil
    }

    /// A copy of a data value's bytes.
    public var data: [UInt8]? { kind == .data ? [UInt8](document.buffer(of: node)) : nil }

    /// Lends the bytes of a string (UTF-8) or data for the time of the call; nil when the value is of another kind.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result? {
        guard kind == .string || kind == .data else { return nil }
        defer { withExtendedLifetime(document) {} }
        return try body(UnsafeRawBufferPointer(document.buffer(of: node)))
    }
}

extension Document {
    /// The bytes of a string, data or key node. Valid while the document lives.
    @inlinable package func buffer(of node: kv_node) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + Int(truncatingIfNeeded: node.payload), count: Int(node.count))
    }
}
