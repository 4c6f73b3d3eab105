/// The last 32 bytes of a binary property list, which locate everything else in it.
///
/// Holds for every trailer made here: the offset table lies in the file, with one offset for each object.
struct BinaryTrailer {
    static let size = 32
    static let headerSize = 8
    /// `bplist00`.
    private static let magic: UInt64 = 0x6270_6C69_7374_3030

    /// Bytes of an entry of the offset table, and of a reference; 1 to 8.
    let offsetSize: Int
    let referenceSize: Int
    let objectCount: Int
    let topObject: Int
    /// The offset of the offset table, where the objects end.
    let tableOffset: Int

    init(of file: UnsafeRawBufferPointer) throws(PropertyListError) {
        guard file.count > Self.headerSize + Self.size, let bytes = file.baseAddress else {
            throw PropertyListError(
                .malformed, .expected("a header and a trailer", found: "\(file.count) bytes"), location: .offset(0))
        }
        guard bytes.loadUnaligned(as: UInt64.self).bigEndian == Self.magic else {
            throw PropertyListError(.malformed, .expected("bplist00", found: "another version"), location: .offset(0))
        }
        let start = file.count - Self.size
        func number(at offset: Int) -> UInt64 {
            UInt64(bigEndian: (bytes + start + offset).loadUnaligned(as: UInt64.self))
        }
        func check(
            _ condition: Bool, _ words: @autoclosure () -> ErrorWords, at offset: Int
        ) throws(PropertyListError) {
            if !condition { throw PropertyListError(.malformed, words(), location: .offset(start + offset)) }
        }
        offsetSize = Int(file[start + 6])
        referenceSize = Int(file[start + 7])
        try check((1...8).contains(offsetSize), .expected("an offset size of 1 to 8", found: "\(offsetSize)"), at: 6)
        try check(
            (1...8).contains(referenceSize), .expected("a reference size of 1 to 8", found: "\(referenceSize)"), at: 7)
        let (count, top, table) = (number(at: 8), number(at: 16), number(at: 24))
        try check(
            table > UInt64(Self.headerSize) && table < UInt64(start), "The offset table lies outside the file", at: 24)
        let entries = (UInt64(start) - table) / UInt64(offsetSize)
        try check(count > 0 && count <= entries, "\(count) objects do not fit in the offset table", at: 8)
        try check(top < count, "The top object, \(top), is none of the \(count) objects", at: 16)
        (objectCount, topObject, tableOffset) = (Int(count), Int(top), Int(table))
    }
}

/// A big-endian number of `size` bytes, 1 to 8.
func bigEndian(_ bytes: UnsafeRawPointer, _ size: Int) -> UInt64 {
    switch size {
    case 1: return UInt64(bytes.load(as: UInt8.self))
    case 2: return UInt64(UInt16(bigEndian: bytes.loadUnaligned(as: UInt16.self)))
    case 4: return UInt64(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
    case 8: return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    default:
        var value: UInt64 = 0
        for index in 0..<size { value = value << 8 | UInt64(bytes.load(fromByteOffset: index, as: UInt8.self)) }
        return value
    }
}
