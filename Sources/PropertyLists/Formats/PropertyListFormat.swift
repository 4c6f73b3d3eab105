/// The formats that property lists are read from; all but OpenStep are also written.
///
/// ```swift
/// let (list, format) = try PropertyList.parse(Array("{\"width\": 640}".utf8))
/// print(format)  // JSON
/// let file = try list.serialized(as: .xml)
/// print(String(decoding: file, as: UTF8.self))
/// ```
public enum PropertyListFormat: Sendable, Hashable, CaseIterable {
    /// Apple's XML, as text editors and diffs like it.
    case xml
    /// Apple's `bplist00`, the small and fast one.
    case binary
    /// The text of OpenStep and NeXT, also that of `.strings` files. Read only: every scalar is a string or data.
    case openStep
    /// JSON (RFC 8259). Has null, and neither date nor data nor UID.
    case json
}

extension PropertyListFormat: CustomStringConvertible {
    public var description: String {
        switch self {
        case .xml: "XML"
        case .binary: "binary"
        case .openStep: "OpenStep"
        case .json: "JSON"
        }
    }
}

extension PropertyListFormat {
    /// The format of a new file by its name: JSON for `.json`, else XML.
    package init(ofFile name: String) { self = name.hasSuffix(".json") ? .json : .xml }

    /// The format to read a file as by its name; nil to find it from the content, as everywhere but in a file for JSON:
    /// text that looks like OpenStep there is JSON with a fault.
    package static func expected(inFile name: String, _ bytes: [UInt8]) -> PropertyListFormat? {
        guard PropertyListFormat(ofFile: name) == .json else { return nil }
        return bytes.withUnsafeBytes { detect($0) } == .openStep ? .json : nil
    }

    /// The format that the beginning of a file shows; nil for an empty one, and for bytes that are no text.
    ///
    /// `bplist` is binary, `<` followed by an element, `!` or `?` is XML, `[` is JSON, and `{` is JSON when a quoted
    /// key and a colon follow, also behind comments, which are an error of JSON then. Everything else is OpenStep, as
    /// Foundation takes it: a lone `12` is therefore the string "12"; ask for ``json`` to read a JSON document that is
    /// a scalar.
    public static func detect(_ bytes: UnsafeRawBufferPointer) -> PropertyListFormat? {
        if isBinary(bytes) { return .binary }
        guard let encoding = TextEncoding(of: bytes) else { return nil }
        if encoding.isUTF8 { return detect(text: encoding.text(of: bytes)) }
        var text = GrowableBuffer<UInt8>()
        // The part that can be decoded shows the format as well as the whole text does.
        try? encoding.transcode(bytes, to: &text)
        return detect(text: text.contents)
    }

    package static func isBinary(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= 6 && bytes.prefix(6).elementsEqual("bplist".utf8)
    }

    /// The format of a text in UTF-8.
    static func detect(text: UnsafeBufferPointer<UInt8>) -> PropertyListFormat? {
        var cursor = TextCursor(text)
        cursor.skipWhitespace()
        guard let first = cursor.current else { return nil }
        switch first {
        case UInt8(ascii: "["): return .json
        case UInt8(ascii: "{"): return cursor.isAtJSONObject() ? .json : .openStep
        case UInt8(ascii: "<"): return cursor.isAtXML() ? .xml : .openStep
        case 0..<0x20, 0x7F: return nil
        default: return .openStep
        }
    }
}

extension TextCursor {
    /// `<` begins an element, a declaration or an instruction in XML, and data in OpenStep, whose digits are
    /// hexadecimal.
    fileprivate func isAtXML() -> Bool {
        guard let next = byte(1) else { return false }
        var ahead = self
        ahead.position += 1
        ahead.skip { isHexadecimalDigit($0) || isWhitespace($0) }
        return ahead.current != UInt8(ascii: ">") && ahead.current != nil && next != UInt8(ascii: "*")
    }

    /// Whether a quoted key and a colon follow the brace.
    fileprivate func isAtJSONObject() -> Bool {
        var ahead = self
        ahead.position += 1
        ahead.skipWhitespace()
        while ahead.isAt("//") || ahead.isAt("/*") {
            if ahead.consume("//") {
                ahead.skip { $0 != 0x0A && $0 != 0x0D }
            } else if !ahead.skip(behind: "*/") {
                return false
            }
            ahead.skipWhitespace()
        }
        guard let quote = ahead.current, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return false }
        ahead.position += 1
        while let byte = ahead.current, byte != quote {
            ahead.position += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        ahead.position += 1
        ahead.skipWhitespace()
        return ahead.current == UInt8(ascii: ":")
    }
}
