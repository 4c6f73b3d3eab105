/// Reads `bplist00`.
///
/// Decisions beyond the format: a set, a null (0x00) and the other markers that no property list has are errors, and so
/// are a date that is no finite number and a UID above 4 bytes. Fill bytes (0x0F) are met only where a reference leads
/// to them, which is an error. Objects may be shared; the size that they expand to is counted before they are expanded
/// (``BinaryGraph``).
struct BinaryReader: ~Copyable {
    private let objects: BinaryObjects
    private var output: PropertyListBuilder
    private var frames = GrowableBuffer<BinaryFrame>()
    /// A bit for each object that is a container and has been opened.
    private var opened = GrowableBuffer<UInt64>()
    /// Whether the size of the expanded tree is known to be within the budget.
    private var isCounted = false

    private init(_ objects: BinaryObjects, _ output: consuming PropertyListBuilder) {
        self.objects = objects
        self.output = output
    }
}

/// An array or dictionary of a binary property list that is open.
private struct BinaryFrame: BitwiseCopyable {
    var object: Int
    /// The offset of the next value's reference.
    var next: Int
    /// The offset behind the last reference.
    var end: Int
    /// Bytes from a value's reference back to its key's; 0 in an array.
    fileprivate var keyDistance: Int
}

extension BinaryReader {
    static func read(
        _ file: UnsafeRawBufferPointer, limits: PropertyListLimits
    ) throws(PropertyListError) -> PropertyList {
        let objects = try BinaryObjects(of: file)
        var reader = BinaryReader(objects, PropertyListBuilder(limits: limits))
        try reader.read()
        return try reader.output.finish()
    }

    /// Appends the value that a file holds; after an error the builder is of no use.
    static func append(
        _ file: UnsafeRawBufferPointer, to builder: inout PropertyListBuilder, limits: PropertyListLimits
    ) throws(PropertyListError) {
        let objects = try BinaryObjects(of: file)
        let top = objects.trailer.topObject
        guard try !objects.marker(of: top).isContainer else { return try builder.append(read(file, limits: limits)) }
        // Most rows of a database are a scalar: it needs no document of its own.
        var output = PropertyListBuilder(limits: limits)
        swap(&output, &builder)
        var reader = BinaryReader(objects, output)
        // A lone scalar shares nothing.
        reader.isCounted = true
        do throws(PropertyListError) {
            try reader.value(top)
        } catch {
            var error = reader.located(error)
            error.path = PropertyListPath()
            throw error
        }
        builder = reader.output
    }
}

extension PropertyListBuilder {
    /// Appends the value that the bytes of a binary file hold; after an error the builder is of no use.
    package mutating func append(
        binary file: UnsafeRawBufferPointer, limits: PropertyListLimits
    ) throws(PropertyListError) {
        try BinaryReader.append(file, to: &self, limits: limits)
    }
}

extension BinaryReader {
    private mutating func read() throws(PropertyListError) {
        do throws(PropertyListError) {
            try value(objects.trailer.topObject)
            try output.checkCount()
            while frames.count > 0 {
                try step()
                try output.checkCount()
            }
        } catch {
            throw located(error)
        }
    }

    /// Adds the path and the offset in the file, each where the error has none.
    private func located(_ error: PropertyListError) -> PropertyListError {
        var error = error
        if error.path.isEmpty { error.path = output.path }
        if error.location == nil {
            let next = frames.count > 0 ? frames[frames.count - 1].next : BinaryTrailer.headerSize
            error.location = .offset(next)
        }
        return error
    }

    /// Reads the next value of the innermost container, or closes it.
    private mutating func step() throws(PropertyListError) {
        let frame = frames[frames.count &- 1]
        if frame.next == frame.end {
            try output.end()
            frames.count &-= 1
            return
        }
        if frame.keyDistance > 0 { try key(try objects.reference(at: frame.next &- frame.keyDistance)) }
        let object = try objects.reference(at: frame.next)
        frames[frames.count &- 1].next = frame.next &+ objects.trailer.referenceSize
        try value(object)
    }

    private mutating func key(_ object: Int) throws(PropertyListError) {
        let marker = try objects.marker(of: object)
        let start = output.bytes.count
        switch marker.type {
        case 0x5: try storeASCII(marker)
        case 0x6: try storeUTF16(marker)
        default:
            throw PropertyListError(
                .invalidValue, .expected("a string as the key", found: "marker \(marker.hexadecimal)"),
                location: .offset(marker.offset))
        }
        try output.appendKey(storedFrom: start)
    }

    private mutating func value(_ object: Int) throws(PropertyListError) {
        let marker = try objects.marker(of: object)
        switch marker.type {
        case 0x1: try integer(marker)
        case 0x5:
            let start = output.bytes.count
            try storeASCII(marker)
            try output.append(storedFrom: start, as: .string)
        case 0xA, 0xD: try open(object, marker)
        case 0x2: try real(marker)
        case 0x6:
            let start = output.bytes.count
            try storeUTF16(marker)
            try output.append(storedFrom: start, as: .string)
        case 0x4: try data(marker)
        case 0x8: try uid(marker)
        default: try other(marker)
        }
    }

    private mutating func open(_ object: Int, _ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let size = objects.trailer.referenceSize
        let isDictionary = marker.type == 0xD
        let (start, count) = try objects.content(of: marker, unit: isDictionary ? 2 * size : size)
        if count > 0 { try note(object, marker) }
        if isDictionary { try output.beginDictionary() } else { try output.beginArray() }
        if count == 0 { return try output.end() }
        let keyDistance = isDictionary ? count * size : 0
        frames.append(
            BinaryFrame(
                object: object, next: start + keyDistance, end: start + keyDistance + count * size,
                keyDistance: keyDistance))
    }
}

// MARK: - Sharing

extension BinaryReader {
    /// Marks a container as opened; one that was opened before is shared, or inside itself.
    private mutating func note(_ object: Int, _ marker: BinaryObjects.Marker) throws(PropertyListError) {
        if opened.count == 0 { opened.appendZeros((objects.trailer.objectCount + 63) / 64) }
        let bit = UInt64(1) << UInt64(object & 63)
        if opened[object >> 6] & bit != 0 {
            for index in 0..<frames.count where frames[index].object == object {
                throw objects.malformed(.expected("a tree", found: "a container that holds itself"), at: marker.offset)
            }
            try count()
        }
        opened[object >> 6] |= bit
    }

    /// Counts, once, the size that the whole file expands to.
    private mutating func count() throws(PropertyListError) {
        guard !isCounted else { return }
        isCounted = true
        try BinaryGraph.check(objects, limits: output.limits)
    }

    /// Makes sure that `length` more bytes of text or data may be stored.
    ///
    /// Unshared objects take no more than half as much again as the file (UTF-16 that becomes UTF-8).
    private mutating func admit(_ length: Int) throws(PropertyListError) {
        if length > objects.fileSize &* 2 &- output.bytes.count { try count() }
    }
}

extension BinaryObjects.Marker {
    fileprivate var hexadecimal: String { "0x" + String(byte, radix: 16, uppercase: true) }
}

extension GrowableBuffer where Element: FixedWidthInteger {
    mutating func appendZeros(_ count: Int) {
        reserve(count)
        guard let base else { return }
        (base + self.count).update(repeating: 0, count: count)
        self.count += count
    }
}

// MARK: - Scalars

extension BinaryReader {
    private mutating func storeASCII(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let (start, count) = try objects.content(of: marker, unit: 1)
        let text = objects.slice(start, count)
        // Some writers put UTF-8 where ASCII belongs; their meaning is clear.
        guard isASCII(text) || isValidUTF8(text) else {
            throw PropertyListError(
                .malformed, .expected("ASCII", found: "bytes above 127"), location: .offset(marker.offset))
        }
        try admit(count)
        output.bytes.append(text.bindMemory(to: UInt8.self))
    }

    private mutating func storeUTF16(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let (start, count) = try objects.content(of: marker, unit: 2)
        try admit(count &* 3)
        guard output.bytes.append(utf16: objects.slice(start, count &* 2), isBigEndian: true) else {
            throw PropertyListError(
                .malformed, .expected("UTF-16", found: "a lone surrogate"), location: .offset(marker.offset))
        }
    }

    private mutating func data(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let (start, count) = try objects.content(of: marker, unit: 1)
        try admit(count)
        let first = output.bytes.count
        output.bytes.append(objects.slice(start, count).bindMemory(to: UInt8.self))
        try output.append(storedFrom: first, as: .data)
    }

    /// Integers of 1, 2 and 4 bytes have no sign, those of 8 have one, and of 16 those that fit in 64 bits are taken.
    private mutating func integer(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        switch marker.byte & 0x0F {
        case 0, 1, 2, 3:
            let number = try objects.number(of: marker, size: 1 << Int(marker.byte & 0x0F))
            try output.append(scalar: .integer, number)
        case 4: try wideInteger(marker)
        default: throw unknown(marker)
        }
    }

    private mutating func wideInteger(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let high = try objects.number(of: marker, size: 8)
        let second = BinaryObjects.Marker(offset: marker.offset + 8, byte: marker.byte)
        let low = try objects.number(of: second, size: 8)
        if high == 0 {
            try output.append(scalar: low > UInt64(Int64.max) ? .unsigned : .integer, low)
        } else if high == .max, low > UInt64(Int64.max) {
            try output.append(scalar: .integer, low)
        } else {
            throw PropertyListError(
                .invalidValue, .expected("an integer of 64 bits", found: "a larger one"),
                location: .offset(marker.offset))
        }
    }

    private mutating func real(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        switch marker.byte {
        case 0x22:
            let bits = UInt32(truncatingIfNeeded: try objects.number(of: marker, size: 4))
            try output.append(scalar: .real, Double(Float(bitPattern: bits)).bitPattern)
        case 0x23: try output.append(scalar: .real, try objects.number(of: marker, size: 8))
        default: throw unknown(marker)
        }
    }

    private mutating func uid(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let size = Int(marker.byte & 0x0F) + 1
        let number = size <= 8 ? try objects.number(of: marker, size: size) : .max
        guard let uid = UInt32(exactly: number) else {
            throw PropertyListError(
                .invalidValue, .expected("a UID of at most 4 bytes", found: "a larger one"),
                location: .offset(marker.offset)
            )
        }
        try output.append(scalar: .uid, UInt64(uid))
    }

    private mutating func other(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        switch marker.byte {
        case 0x08: try output.append(scalar: .boolean, 0)
        case 0x09: try output.append(scalar: .boolean, 1)
        case 0x33:
            let seconds = Double(bitPattern: try objects.number(of: marker, size: 8))
            guard seconds.isFinite else {
                throw PropertyListError(
                    .invalidValue, .expected("a date", found: "no finite number"), location: .offset(marker.offset))
            }
            try output.append(scalar: .date, seconds.bitPattern)
        case 0x00:
            throw PropertyListError(
                .invalidValue, .expected("a value", found: "null"), location: .offset(marker.offset))
        case 0xB0...0xCF:
            throw PropertyListError(
                .invalidValue, .expected("a property-list value", found: "a set"), location: .offset(marker.offset))
        default: throw unknown(marker)
        }
    }

    private func unknown(_ marker: BinaryObjects.Marker) -> PropertyListError {
        objects.malformed(.expected("a value", found: "marker \(marker.hexadecimal)"), at: marker.offset)
    }
}
