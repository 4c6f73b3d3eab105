internal import CKVCodable
internal import PropertyLists

/// A dictionary in a property-list tree. Valid while the document lives.
struct TreeDictionary {
    let nodes: UnsafePointer<kv_node>
    let bytes: UnsafePointer<UInt8>
    let byteCount: Int
    private let header: Int
    let firstKey: Int
    let keyCount: Int

    init(_ document: Document, at header: Int) {
        nodes = document.nodes
        bytes = document.bytes
        byteCount = document.byteCount
        self.header = header
        firstKey = document.keys(ofDictionaryAt: header).lowerBound
        keyCount = Int(document.nodes[header].count)
    }

    @inline(__always) func value(ofKeyAt place: Int) -> Int { header &+ nodes[place].distance }

    @inline(__always) func text(of node: kv_node) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes + Int(truncatingIfNeeded: node.payload), count: Int(node.count))
    }
}

/// A key that was looked up, and where it stood.
struct ExpectedKey {
    /// The name as a String has it, wherever its text is.
    private var name: (UInt64, UInt64) = (0, 0)
    /// The first bytes of its text, with zeros behind.
    private var beginning: (UInt64, UInt64) = (0, 0)
    private var length = -1
    /// Where it stood among a dictionary's keys, for each remainder of their number by four: where an optional is
    /// missing, the keys behind it stand elsewhere.
    private var indexes = SIMD4<Int32>(repeating: 0)

    init() {}

    init(_ name: String) {
        self.name = Self.bits(name)
        name.withBytes { text in
            length = text.count
            beginning = (Self.word(text.prefix(8)), Self.word(text.dropFirst(8).prefix(8)))
        }
    }

    private static func word(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The very same string, which whoever remembers it keeps, has the same text.
    @inline(__always) func isOf(_ name: String) -> Bool { Self.bits(name) == self.name }

    @inline(__always) private static func bits(_ text: String) -> (UInt64, UInt64) {
        unsafeBitCast(text, to: (UInt64, UInt64).self)
    }

    mutating func remember(_ index: Int, of count: Int) {
        indexes[count & 3] = Int32(truncatingIfNeeded: index)
    }

    /// Where the key stands in this dictionary, if it is where it is expected.
    @inline(__always) func place(of name: String, in dictionary: TreeDictionary) -> Int? {
        guard isOf(name) else { return nil }
        let index = Int(indexes[dictionary.keyCount & 3])
        guard index < dictionary.keyCount else { return nil }
        let place = dictionary.firstKey &+ index
        let key = dictionary.nodes[place]
        return Int(key.count) == length && isText(of: key, name, in: dictionary) ? place : nil
    }

    @inline(__always) private func isText(of key: kv_node, _ name: String, in dictionary: TreeDictionary) -> Bool {
        let offset = Int(truncatingIfNeeded: key.payload)
        guard length <= 16, offset &+ 16 <= dictionary.byteCount else {
            return Self.isLongText(dictionary.text(of: key), name)
        }
        let text = UnsafeRawPointer(dictionary.bytes + offset)
        let first = text.loadUnaligned(as: UInt64.self).littleEndian
        if length <= 8 { return first & Self.mask(length) == beginning.0 }
        let second = text.loadUnaligned(fromByteOffset: 8, as: UInt64.self).littleEndian
        return first == beginning.0 && second & Self.mask(length &- 8) == beginning.1
    }

    /// Ones for so many bytes, at most eight.
    @inline(__always) private static func mask(_ length: Int) -> UInt64 {
        // A shift by 64 gives 0.
        ~(UInt64.max << UInt64(truncatingIfNeeded: 8 &* length))
    }

    @inline(never) private static func isLongText(_ text: UnsafeRawBufferPointer, _ name: String) -> Bool {
        name.withBytes { $0.elementsEqual(text) }
    }
}
