/// Reads Apple's XML property lists.
///
/// It knows the parts of XML that a property list needs: elements, comments, processing instructions, CDATA, the five
/// entities and numeric references. A DTD may be named but holds no declarations, so that there is nothing to expand.
/// Attributes are skipped. A root element without `<plist>` around it is read too, as Foundation does.
///
/// Text is kept as it stands: a return, which XML parsers would make a newline, stays one, since Apple's readers and
/// writers keep it. The processing instruction that ``XMLWriter`` puts behind a date with a fraction of a second is
/// understood, others are skipped.
struct XMLReader: TextFormatReader {
    /// Whether the value stands in a `<plist>`.
    fileprivate var isWrapped = false
    /// Whether the file has comments or instructions, but for those that belong to a date.
    fileprivate(set) var hasMarkup = false
    /// Behind a declaration that names another encoding than UTF-8; else 0.
    fileprivate(set) var foreignDeclaration = 0

    static func begin(_ reader: inout TextReader<Self>) throws(PropertyListError) {
        try reader.beginning()
        try reader.value()
    }

    static func item(_ reader: inout TextReader<Self>) throws(PropertyListError) {
        try reader.item()
    }

    static func end(_ reader: inout TextReader<Self>) throws(PropertyListError) {
        try reader.skipMarkup()
        if reader.format.isWrapped {
            guard reader.cursor.position < reader.cursor.count else {
                throw reader.malformed(.expected("</plist>", found: "the end"))
            }
            try reader.close("plist")
        }
        try reader.skipMarkup()
        guard reader.cursor.position == reader.cursor.count else {
            throw reader.malformed(.expected("the end", found: "more"))
        }
    }
}

// MARK: - The document

extension TextReader where Format == XMLReader {
    /// Reads the text before the root.
    mutating func beginning() throws(PropertyListError) {
        if let zero = cursor.slice(0, cursor.count).firstIndex(of: 0) {
            throw malformed(.expected("XML", found: "a zero byte"), at: zero)
        }
        try declaration()
        try skipMarkup(allowsDocumentType: true)
        format.isWrapped = try openRoot()
        try skipMarkup()
        guard cursor.byte(1) != UInt8(ascii: "/") else { throw malformed(.expected("a value", found: "none")) }
    }

    /// The XML declaration, which may name no encoding but the one that the text is in.
    private mutating func declaration() throws(PropertyListError) {
        guard cursor.isAt("<?xml"), let next = cursor.byte(5), isWhitespace(next) else { return }
        let start = cursor.position
        guard cursor.skip(behind: "?>") else { throw malformed(.expected("?>", found: "the end")) }
        var inside = TextCursor(cursor.slice(start, cursor.position))
        guard inside.skip(behind: "encoding") else { return }
        inside.skipWhitespace()
        guard inside.consume("=") else { return }
        inside.skipWhitespace()
        guard let quote = inside.current, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return }
        inside.position += 1
        let nameStart = inside.position
        inside.skip { $0 != quote }
        try checkEncoding(String(decoding: inside.slice(nameStart, inside.position), as: UTF8.self), at: start)
    }

    /// Checks the name of the declared encoding. Text in UTF-16 and UTF-32 was recognised by its bytes, and is UTF-8 by
    /// now.
    private mutating func checkEncoding(_ name: String, at position: Int) throws(PropertyListError) {
        switch name.lowercased() {
        case "utf-8", "utf8": return
        case "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be", "utf-32", "utf-32le", "utf-32be", "utf16", "utf32",
            "ucs-2", "ucs-4", "unicode", "iso-10646-ucs-2", "iso-10646-ucs-4":
            format.foreignDeclaration = cursor.position
        default: throw malformed(.expected("UTF-8, UTF-16 or UTF-32", found: "encoding \(name)"), at: position)
        }
    }

    /// Steps over the start tag of `plist`; false where the root element is another.
    private mutating func openRoot() throws(PropertyListError) -> Bool {
        guard cursor.current == UInt8(ascii: "<") else {
            throw malformed(
                cursor.current == nil
                    ? .expected("an element", found: "the end") : .expected("an element", found: "text"))
        }
        guard cursor.isAt("<plist"), let next = cursor.byte(6), !isNameByte(next) else { return false }
        cursor.position += 6
        guard try !tagEnd() else { throw malformed(.expected("a value", found: "<plist/>")) }
        return true
    }

    /// Steps over whitespace, comments and processing instructions, and over the document type where one may stand.
    mutating func skipMarkup(allowsDocumentType: Bool = false) throws(PropertyListError) {
        while true {
            cursor.skipWhitespace()
            guard cursor.current == UInt8(ascii: "<"), let next = cursor.byte(1) else { return }
            guard next == UInt8(ascii: "!") || next == UInt8(ascii: "?") else { return }
            if try !skipOneMarkup(allowsDocumentType: allowsDocumentType) { return }
        }
    }

    private mutating func skipOneMarkup(allowsDocumentType: Bool) throws(PropertyListError) -> Bool {
        if cursor.isAt("<!DOCTYPE"), allowsDocumentType {
            try skipDocumentType()
            return true
        }
        return try skipCommentOrInstruction()
    }

    /// Steps over a comment or processing instruction; false where neither stands here.
    mutating func skipCommentOrInstruction() throws(PropertyListError) -> Bool {
        let start = cursor.position
        if cursor.consume("<!--") {
            format.hasMarkup = true
            guard cursor.skip(behind: "-->") else { throw malformed(.expected("-->", found: "the end"), at: start) }
            return true
        }
        if cursor.isAt("<?") {
            if !cursor.isAt(XMLWriter.exactDate) { format.hasMarkup = true }
            cursor.position += 2
            guard cursor.skip(behind: "?>") else { throw malformed(.expected("?>", found: "the end"), at: start) }
            return true
        }
        return false
    }

    /// `<!DOCTYPE plist PUBLIC "…" "…" []>`, whose DTD is never fetched, and whose subset may be empty.
    private mutating func skipDocumentType() throws(PropertyListError) {
        let start = cursor.position
        while let byte = cursor.current {
            cursor.position += 1
            switch byte {
            case UInt8(ascii: ">"): return
            case UInt8(ascii: "["):
                let subset = cursor.position - 1
                cursor.skipWhitespace()
                guard cursor.consume("]") else {
                    throw malformed(.expected("no declarations in the document type", found: "some"), at: subset)
                }
                cursor.skipWhitespace()
                guard cursor.current == UInt8(ascii: ">") else { throw unexpected(">") }
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                cursor.skip { $0 != byte }
                cursor.position += 1
            default: break
            }
        }
        throw malformed(.expected("the end of the document type", found: "the end"), at: start)
    }
}

// MARK: - Tags

extension TextReader where Format == XMLReader {
    /// The rest of a start tag behind its name; true where the element is empty (`/>`).
    mutating func tagEnd() throws(PropertyListError) -> Bool {
        if cursor.current == UInt8(ascii: ">") {
            cursor.position &+= 1
            return false
        }
        return try attributesEnd()
    }

    private mutating func attributesEnd() throws(PropertyListError) -> Bool {
        while let byte = cursor.current {
            cursor.position += 1
            switch byte {
            case UInt8(ascii: ">"): return false
            case UInt8(ascii: "/"):
                guard cursor.consume(">") else { throw malformed("Expected > behind /") }
                return true
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                cursor.skip { $0 != byte }
                guard cursor.position < cursor.count else { throw malformed(.expected("a quote", found: "the end")) }
                cursor.position += 1
            case UInt8(ascii: "<"): throw malformed(.expected(">", found: "<"), at: cursor.position - 1)
            default: break
            }
        }
        throw malformed(.expected(">", found: "the end"))
    }

    /// Steps over the end tag of `name`.
    mutating func close(_ name: StaticString) throws(PropertyListError) {
        let start = cursor.position
        guard cursor.consume("</"), cursor.consume(name) else { throw unclosed(name, at: start) }
        if cursor.consume(">") { return }
        cursor.skipWhitespace()
        guard cursor.consume(">") else { throw unclosed(name, at: start) }
    }

    private func unclosed(_ name: StaticString, at position: Int) -> PropertyListError {
        let found = position < cursor.count ? tag(at: position) : "the end"
        return malformed(.expected("</\(name)>", found: "\(found)"), at: position)
    }

    /// The text at a position, shortened, for a message.
    func tag(at position: Int) -> String {
        var end = position
        while end < cursor.count, end - position < 40, cursor.base[end] != UInt8(ascii: ">"), cursor.base[end] >= 0x20 {
            end += 1
        }
        if end < cursor.count, cursor.base[end] == UInt8(ascii: ">") { end += 1 }
        return String(decoding: cursor.slice(position, end), as: UTF8.self)
    }

    func isNameByte(_ byte: UInt8) -> Bool {
        !isWhitespace(byte) && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "/")
    }
}
