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
        let parsed = try parsing(bytes, as: format, limits)
        try limits.checkCount(parsed.list.node.span)
        return parsed
    }

    private static func parsing(
        _ bytes: UnsafeRawBufferPointer, as format: PropertyListFormat?, _ limits: PropertyListLimits
    ) throws(PropertyListError) -> (list: PropertyList, format: PropertyListFormat) {
        if format == .binary || format == nil && PropertyListFormat.isBinary(bytes) {
            return (try BinaryReader.read(bytes, limits: limits), .binary)
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
    ) throws(PropertyListError) -> (list: PropertyList, format: PropertyListFormat) {
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
        case .xml: return (try XMLReader.read(cursor, limits: limits), format)
        case .json: return (try JSONReader.read(cursor, limits: limits), format)
        case .openStep, .binary: return (try OpenStepReader.read(cursor, limits: limits), .openStep)
        }
    }
}
