/// The encoding of a text file, found by its byte-order mark, else by the positions of its zero bytes.
struct TextEncoding {
    private enum Unit {
        case utf8
        case utf16(isBigEndian: Bool)
        case utf32(isBigEndian: Bool)
    }

    private let unit: Unit
    /// The bytes of the mark, which are no part of the text.
    private let markLength: Int

    var isUTF8: Bool {
        if case .utf8 = unit { true } else { false }
    }

    /// Nil for no bytes at all.
    init?(of bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return nil }
        // A missing byte is neither zero nor part of a mark.
        func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 1 }
        switch (byte(0), byte(1), byte(2), byte(3)) {
        case (0xEF, 0xBB, 0xBF, _): (unit, markLength) = (.utf8, 3)
        case (0, 0, 0xFE, 0xFF): (unit, markLength) = (.utf32(isBigEndian: true), 4)
        case (0xFF, 0xFE, 0, 0): (unit, markLength) = (.utf32(isBigEndian: false), 4)
        case (0xFE, 0xFF, _, _): (unit, markLength) = (.utf16(isBigEndian: true), 2)
        case (0xFF, 0xFE, _, _): (unit, markLength) = (.utf16(isBigEndian: false), 2)
        case (0, 0, 0, 1...): (unit, markLength) = (.utf32(isBigEndian: true), 0)
        case (1..., 0, 0, 0): (unit, markLength) = (.utf32(isBigEndian: false), 0)
        case (0, 1..., _, _): (unit, markLength) = (.utf16(isBigEndian: true), 0)
        case (1..., 0, _, _): (unit, markLength) = (.utf16(isBigEndian: false), 0)
        default: (unit, markLength) = (.utf8, 0)
        }
    }

    /// The bytes of a text in UTF-8, without a mark.
    func text(of bytes: UnsafeRawBufferPointer) -> UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(rebasing: bytes[markLength...]).bindMemory(to: UInt8.self)
    }

    /// The result of `body` for a file's text in UTF-8; nil where the file is no text.
    static func withText<Result>(
        of file: [UInt8], _ body: (UnsafeBufferPointer<UInt8>) -> Result?
    ) -> Result? {
        file.withUnsafeBytes { bytes in
            guard let encoding = TextEncoding(of: bytes) else { return nil }
            var transcoded = GrowableBuffer<UInt8>()
            if !encoding.isUTF8, (try? encoding.transcode(bytes, to: &transcoded)) == nil { return nil }
            let text = encoding.isUTF8 ? encoding.text(of: bytes) : transcoded.contents
            return firstInvalidUTF8(UnsafeRawBufferPointer(text)) == nil ? body(text) : nil
        }
    }

    /// Appends the text in UTF-8.
    ///
    /// - Throws: ``PropertyListError/Code/malformed`` with line and column of a unit that stands for no character; the
    ///   text before it has been appended.
    func transcode(
        _ bytes: UnsafeRawBufferPointer, to text: inout GrowableBuffer<UInt8>
    ) throws(PropertyListError) {
        let source = UnsafeRawBufferPointer(rebasing: bytes[markLength...])
        text.reserve(source.count / 2)
        switch unit {
        case .utf8: text.append(source.bindMemory(to: UInt8.self))
        case .utf16(let isBigEndian): try transcode(utf16: source, isBigEndian, to: &text)
        case .utf32(let isBigEndian): try transcode(utf32: source, isBigEndian, to: &text)
        }
    }

    private func transcode(
        utf16 source: UnsafeRawBufferPointer, _ isBigEndian: Bool, to text: inout GrowableBuffer<UInt8>
    ) throws(PropertyListError) {
        guard source.count % 2 == 0, text.append(utf16: source, isBigEndian: isBigEndian) else {
            throw invalid("UTF-16", &text)
        }
    }

    private func transcode(
        utf32 source: UnsafeRawBufferPointer, _ isBigEndian: Bool, to text: inout GrowableBuffer<UInt8>
    ) throws(PropertyListError) {
        guard source.count % 4 == 0 else { throw invalid("UTF-32", &text) }
        for index in stride(from: 0, to: source.count, by: 4) {
            let unit = source.loadUnaligned(fromByteOffset: index, as: UInt32.self)
            let value = isBigEndian ? UInt32(bigEndian: unit) : UInt32(littleEndian: unit)
            guard let scalar = Unicode.Scalar(value) else { throw invalid("UTF-32", &text) }
            text.append(scalar)
        }
    }

    private func invalid(_ name: String, _ text: inout GrowableBuffer<UInt8>) -> PropertyListError {
        let location = TextCursor(text.contents).location(of: text.count)
        return PropertyListError(.malformed, .expected("\(name)", found: "invalid bytes"), location: location)
    }
}

extension GrowableBuffer where Element == UInt8 {
    /// Appends a character in UTF-8.
    mutating func append(_ scalar: Unicode.Scalar) {
        let value = scalar.value
        reserve(4)
        if value < 0x80 {
            append(UInt8(value))
        } else if value < 0x800 {
            append(0xC0 | UInt8(value >> 6))
            append(0x80 | UInt8(value & 0x3F))
        } else {
            if value < 0x10000 {
                append(0xE0 | UInt8(value >> 12))
            } else {
                append(0xF0 | UInt8(value >> 18))
                append(0x80 | UInt8(value >> 12 & 0x3F))
            }
            append(0x80 | UInt8(value >> 6 & 0x3F))
            append(0x80 | UInt8(value & 0x3F))
        }
    }

    /// Appends UTF-16 as UTF-8; false where a surrogate stands alone, after appending the text before it.
    mutating func append(utf16 source: UnsafeRawBufferPointer, isBigEndian: Bool) -> Bool {
        func unit(_ index: Int) -> UInt32 {
            let unit = source.loadUnaligned(fromByteOffset: index, as: UInt16.self)
            return UInt32(isBigEndian ? UInt16(bigEndian: unit) : UInt16(littleEndian: unit))
        }
        var index = 0
        while index &+ 1 < source.count {
            var value = unit(index)
            index &+= 2
            if value & 0xFC00 == 0xD800, index &+ 1 < source.count, unit(index) & 0xFC00 == 0xDC00 {
                value = 0x10000 + ((value & 0x3FF) << 10) + (unit(index) & 0x3FF)
                index &+= 2
            }
            guard let scalar = Unicode.Scalar(value) else { return false }
            append(scalar)
        }
        return true
    }
}
