internal import CKVCodable
internal import PropertyLists

/// A key that was looked up, and where it stood.
struct ExpectedKey {
    /// The name as a String has it, wherever its text is.
    private var name: (UInt64, UInt64) = (0, 0)
    private var length = -1
    /// The first sixteen bytes of its text, with zeros behind a shorter one, and ones for each of them.
    private var text = SIMD2<UInt64>()
    private var mask = SIMD2<UInt64>()
    /// Where it stood among a dictionary's keys, for each remainder of their number by four: where an optional is
    /// missing, the keys behind it stand elsewhere.
    private var indexes = SIMD4<Int32>()

    init() {}

    init(_ name: String) {
        self.name = Self.bits(name)
        name.withBytes { bytes in
            length = bytes.count
            text = [Self.word(bytes.prefix(8)), Self.word(bytes.dropFirst(8).prefix(8))]
            mask = [
                Self.word(bytes.prefix(8).map { _ in 0xFF }), Self.word(bytes.dropFirst(8).prefix(8).map { _ in 0xFF }),
            ]
        }
    }

    private static func word(_ bytes: some BidirectionalCollection<UInt8>) -> UInt64 {
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
        let found = UnsafeRawPointer(dictionary.bytes + offset)
        let first = found.loadUnaligned(as: UInt64.self).littleEndian & mask[0]
        let second = found.loadUnaligned(fromByteOffset: 8, as: UInt64.self).littleEndian & mask[1]
        return first == text[0] && second == text[1]
    }

    @inline(never) private static func isLongText(_ text: UnsafeRawBufferPointer, _ name: String) -> Bool {
        name.withBytes { $0.elementsEqual(text) }
    }
}
