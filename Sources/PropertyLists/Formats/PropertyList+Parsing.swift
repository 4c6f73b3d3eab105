internal import CKVCodable

extension PropertyList {
    /// The property list that a file's bytes hold.
    ///
    /// - Parameters:
    ///   - bytes: the whole file; nothing refers to it after the call.
    ///   - format: the file's format; nil to find it from the content.
    ///   - limits: the size and depth that the document may have.
    /// - Throws: ``PropertyListError`` with the fault and its location: a byte offset for binary, line and column for
    ///   text.
    public init(
        parsing bytes: UnsafeRawBufferPointer, as format: PropertyListFormat? = nil,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) {
        self = try Self.parse(bytes, as: format, limits: limits).list
    }

    /// The property list that a file's bytes hold.
    public init(
        parsing bytes: [UInt8], as format: PropertyListFormat? = nil,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) {
        self = try Self.parse(bytes, as: format, limits: limits).list
    }

    /// The property list that a file's bytes hold, and the format it was found in.
    public static func parse(
        _ bytes: [UInt8], as format: PropertyListFormat? = nil, limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> (list: PropertyList, format: PropertyListFormat) {
        try bytes.withUnsafeBufferPointer { bytes throws(PropertyListError) in
            try parse(UnsafeRawBufferPointer(bytes), as: format, limits: limits)
        }
    }

    /// The property list that a file's bytes hold, and the format it was found in.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, as format: PropertyListFormat? = nil,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> (list: PropertyList, format: PropertyListFormat) {
        let file = try ParsedFile(parsing: bytes, as: format, limits: limits)
        return (file.list, file.format)
    }
}

/// A property list as it was found in a file.
package struct ParsedFile: Sendable {
    package var list: PropertyList
    package var format: PropertyListFormat
    /// Whether the file has parts that ``PropertyList/serialized(as:)`` does not write: comments, instructions, keys in
    /// another order than that of their bytes.
    package var hasLayout = false

    package init(
        parsing bytes: UnsafeRawBufferPointer, as format: PropertyListFormat? = nil,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) {
        self = try Self.parse(bytes, as: format, limits)
    }

    package init(
        parsing bytes: [UInt8], as format: PropertyListFormat? = nil,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) {
        self = try bytes.withUnsafeBufferPointer { bytes throws(PropertyListError) in
            try ParsedFile(parsing: UnsafeRawBufferPointer(bytes), as: format, limits: limits)
        }
    }

    private init(_ list: PropertyList, _ format: PropertyListFormat, hasLayout: Bool = false) {
        self.list = list
        self.format = format
        self.hasLayout = hasLayout
    }

    private static func parse(
        _ bytes: UnsafeRawBufferPointer, as format: PropertyListFormat?, _ limits: PropertyListLimits
    ) throws(PropertyListError) -> ParsedFile {
        if format == .binary || format == nil && PropertyListFormat.isBinary(bytes) {
            return ParsedFile(try BinaryReader.read(bytes, limits: limits), .binary)
        }
        guard let encoding = TextEncoding(of: bytes) else {
            throw PropertyListError(.malformed, .expected("a property list", found: "no bytes"))
        }
        if encoding.isUTF8 { return try parse(text: encoding.text(of: bytes), as: format, limits: limits) }
        var text = GrowableBuffer<UInt8>()
        try encoding.transcode(bytes, to: &text)
        return try parse(text: text.contents, as: format, limits: limits)
    }

    private static func parse(
        text: UnsafeBufferPointer<UInt8>, as format: PropertyListFormat?, limits: PropertyListLimits
    ) throws(PropertyListError) -> ParsedFile {
        let cursor = TextCursor(text)
        guard let format = format ?? PropertyListFormat.detect(text: text) else {
            throw PropertyListError(
                .malformed, .expected("XML, JSON, OpenStep or binary", found: "none of them"),
                location: cursor.location(of: 0))
        }
        if let offset = firstInvalidUTF8(UnsafeRawBufferPointer(text)) {
            throw PropertyListError(
                .malformed, .expected("UTF-8", found: "invalid bytes"), location: cursor.location(of: offset))
        }
        switch format {
        case .xml:
            var reader = try XMLReader.reader(of: cursor, limits: limits)
            let hasLayout = reader.format.hasMarkup || reader.output.hasDuplicates
            let list = try reader.output.finish()
            return ParsedFile(list, format, hasLayout: hasLayout || !list.document.hasSortedValues)
        case .json: return ParsedFile(try JSONReader.read(cursor, limits: limits), format)
        case .openStep, .binary: return ParsedFile(try OpenStepReader.read(cursor, limits: limits), .openStep)
        }
    }
}

extension Document {
    /// Whether the values of each dictionary stand in the order of their keys. A builder puts them down as they come.
    fileprivate var hasSortedValues: Bool {
        for header in 0..<nodeCount where !nodes[header].isKey && nodes[header].kind == .dictionary {
            var last = 0
            for slot in keys(ofDictionaryAt: header) {
                guard nodes[slot].distance > last else { return false }
                last = nodes[slot].distance
            }
        }
        return true
    }
}
