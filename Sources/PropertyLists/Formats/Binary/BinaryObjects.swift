/// The objects of a binary property list, each checked against the file when it is looked at.
struct BinaryObjects {
    /// The facts in an object's first byte.
    struct Marker {
        /// The offset of the object.
        let offset: Int
        let byte: UInt8

        var type: UInt8 { byte >> 4 }
        var isContainer: Bool { type == 0xA || type == 0xD }
    }

    let bytes: UnsafeRawPointer
    let fileSize: Int
    let trailer: BinaryTrailer

    init(of file: UnsafeRawBufferPointer) throws(PropertyListError) {
        trailer = try BinaryTrailer(of: file)
        // A file with a trailer is not empty.
        bytes = file.baseAddress.unsafelyUnwrapped
        fileSize = file.count
    }

    /// The number in the reference at `offset`, which lies in a container that has been checked.
    func reference(at offset: Int) throws(PropertyListError) -> Int {
        let number = bigEndian(bytes + offset, trailer.referenceSize)
        guard number < UInt64(trailer.objectCount) else {
            throw malformed(
                .expected("one of \(trailer.objectCount) objects", found: "reference \(number)"), at: offset)
        }
        return Int(truncatingIfNeeded: number)
    }

    func marker(of object: Int) throws(PropertyListError) -> Marker {
        let entry = trailer.tableOffset &+ object &* trailer.offsetSize
        let offset = bigEndian(bytes + entry, trailer.offsetSize)
        guard offset >= BinaryTrailer.headerSize, offset < UInt64(trailer.tableOffset) else {
            throw malformed("The offset of object \(object), \(offset), lies outside the objects", at: entry)
        }
        let position = Int(truncatingIfNeeded: offset)
        return Marker(offset: position, byte: bytes.load(fromByteOffset: position, as: UInt8.self))
    }

    /// The offset of a string's, data's or container's content and its count of units, checked to lie in the file.
    ///
    /// - Parameter unit: bytes of a unit: 1, 2, or one or two references.
    func content(
        of marker: Marker, unit: Int
    ) throws(PropertyListError) -> (start: Int, count: Int) {
        var start = marker.offset &+ 1
        var count = UInt64(marker.byte & 0x0F)
        if count == 0x0F {
            let size = 1 << Int(try byte(at: start) & 0x0F)
            guard bytes.load(fromByteOffset: start, as: UInt8.self) >> 4 == 1, size <= 8 else {
                throw malformed("Expected an integer as the length", at: start)
            }
            start &+= 1
            guard size <= trailer.tableOffset &- start else { throw malformed("The file ends in a length", at: start) }
            count = bigEndian(bytes + start, size)
            start &+= size
        }
        guard count <= UInt64(trailer.tableOffset &- start) / UInt64(unit) else {
            throw malformed(.expected("\(count) units of \(unit) bytes", found: "fewer in the file"), at: marker.offset)
        }
        return (start, Int(truncatingIfNeeded: count))
    }

    private func byte(at offset: Int) throws(PropertyListError) -> UInt8 {
        guard offset < trailer.tableOffset else { throw malformed("The file ends in an object", at: offset) }
        return bytes.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// The bits of a number of `size` bytes behind the marker, 1 to 8.
    func number(of marker: Marker, size: Int) throws(PropertyListError) -> UInt64 {
        guard size <= trailer.tableOffset &- marker.offset &- 1 else {
            throw malformed("The file ends in a number", at: marker.offset)
        }
        return bigEndian(bytes + marker.offset + 1, size)
    }

    func slice(_ start: Int, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes + start, count: count)
    }

    func malformed(_ words: ErrorWords, at offset: Int) -> PropertyListError {
        PropertyListError(.malformed, words, location: .offset(offset))
    }
}
