package import PropertyLists

extension PropertyListBuilder {
    /// Appends the value of a binary property list that holds one boolean, integer, real, short text or data and
    /// nothing else, laid out as our writer does: what most rows of a database are, read without a reader. False, and
    /// nothing is appended, for any other bytes.
    package mutating func append(storedScalar bytes: UnsafeRawBufferPointer) throws(PropertyListError) -> Bool {
        guard let content = StoredScalar.content(of: bytes), let marker = content.first else { return false }
        let rest = UnsafeRawBufferPointer(rebasing: content.dropFirst())
        switch marker {
        case 0x08,
            0x09 where rest.isEmpty:
            try append(boolean: marker == 0x09)
        case 0x10...0x13 where rest.count == 1 << (marker & 0x0F):
            try append(integer: Int64(bitPattern: StoredScalar.number(rest)))
        case 0x23 where rest.count == 8: try append(real: Double(bitPattern: StoredScalar.number(rest)))
        case 0x40...0x4F:
            guard let text = StoredScalar.counted(rest, by: marker) else { return false }
            try append(data: text)
        case 0x50...0x5F:
            guard let text = StoredScalar.counted(rest, by: marker) else { return false }
            try append(utf8: text)
        default: return false
        }
        return true
    }
}

/// The layout of a binary property list of one object: magic, the object, its offset in one byte, and a trailer of 32
/// bytes in four words.
private enum StoredScalar {
    /// `bplist00`.
    private static let magic: UInt64 = 0x6270_6C69_7374_3030
    private static let start = 8

    /// The object's bytes.
    static func content(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let table = bytes.count - 33
        guard table > start, word(bytes, 0) == magic, bytes[table] == UInt8(start) else { return nil }
        // Sizes of offsets and references; one object; which is the top; where its offset stands.
        let isPlain =
            word(bytes, table + 1) == 0x0101 && word(bytes, table + 9) == 1 && word(bytes, table + 17) == 0
            && word(bytes, table + 25) == UInt64(table)
        return isPlain ? UnsafeRawBufferPointer(rebasing: bytes[start..<table]) : nil
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    static func number(_ bytes: UnsafeRawBufferPointer) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    /// What is behind a length, in the marker's lower half or in an integer behind it, where that is all there is.
    static func counted(_ rest: UnsafeRawBufferPointer, by marker: UInt8) -> UnsafeRawBufferPointer? {
        let short = Int(marker & 0x0F)
        if short < 15 { return rest.count == short ? rest : nil }
        guard let size = rest.first, 0x10...0x12 ~= size else { return nil }
        let width = 1 << Int(size & 0x0F)
        guard rest.count > width else { return nil }
        let length = number(UnsafeRawBufferPointer(rebasing: rest[1...width]))
        guard length == UInt64(rest.count - 1 - width) else { return nil }
        return UnsafeRawBufferPointer(rebasing: rest[(1 + width)...])
    }
}
