/// Reads JSON (RFC 8259).
///
/// Decisions beyond it: a number without point and exponent is an integer, and one that 64 bits cannot hold is an
/// error, as is one beyond the range of a Double; of equal keys the last wins; null is read, and stands in memory only;
/// strings must be Unicode, so that an escaped lone surrogate is an error. Comments, trailing commas and other
/// extensions are errors.
struct JSONReader: TextFormatReader {
    /// Whether no item of the open container has been read yet.
    fileprivate var isFirst = false

    static func begin(_ reader: inout TextReader<Self>) throws(PropertyListError) {
        reader.cursor.skipWhitespace()
        try reader.value()
    }

    static func item(_ reader: inout TextReader<Self>) throws(PropertyListError) {
        try reader.item()
    }

    static func end(_ reader: inout TextReader<Self>) throws(PropertyListError) {
        reader.cursor.skipWhitespace()
        guard reader.cursor.position == reader.cursor.count else { throw reader.unexpected("the end") }
    }
}

extension TextReader where Format == JSONReader {
    /// Reads the next item of the open container: an element, an entry, or the container's end.
    fileprivate mutating func item() throws(PropertyListError) {
        cursor.skipWhitespace()
        if cursor.current == (isDictionary ? UInt8(ascii: "}") : UInt8(ascii: "]")) { return try endContainer() }
        if format.isFirst {
            format.isFirst = false
        } else {
            guard cursor.consume(",") else { throw unexpected(isDictionary ? ", or }" : ", or ]") }
            cursor.skipWhitespace()
        }
        if isDictionary {
            try key()
            cursor.skipWhitespace()
        }
        try value()
    }

    private mutating func key() throws(PropertyListError) {
        guard cursor.current == UInt8(ascii: "\"") else { throw unexpected("a key in quotes") }
        let start = output.bytes.count
        try text()
        try output.appendKey(storedFrom: start)
        cursor.skipWhitespace()
        guard cursor.consume(":") else { throw unexpected(":") }
    }

    fileprivate mutating func value() throws(PropertyListError) {
        guard let first = cursor.current else { throw unexpected("a value") }
        switch first {
        case UInt8(ascii: "\""):
            let start = output.bytes.count
            try text()
            try output.append(storedFrom: start, as: .string)
        case UInt8(ascii: "{"): try beginContainer(isDictionary: true)
        case UInt8(ascii: "["): try beginContainer(isDictionary: false)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        default: try word()
        }
    }

    private mutating func beginContainer(isDictionary: Bool) throws(PropertyListError) {
        try open(isDictionary: isDictionary)
        cursor.position += 1
        format.isFirst = true
    }

    private mutating func endContainer() throws(PropertyListError) {
        cursor.position += 1
        try close()
        format.isFirst = false
    }

    private mutating func word() throws(PropertyListError) {
        if cursor.consume("true") {
            try output.append(scalar: .boolean, 1)
        } else if cursor.consume("false") {
            try output.append(scalar: .boolean, 0)
        } else if cursor.consume("null") {
            try output.append(scalar: .null, 0)
        } else {
            throw unexpected("a value")
        }
    }
}

// MARK: - Numbers

extension TextReader where Format == JSONReader {
    private mutating func number() throws(PropertyListError) {
        let start = cursor.position
        if cursor.current == UInt8(ascii: "-") { cursor.position += 1 }
        let first = cursor.position
        cursor.skip(while: isDigit)
        let digits = cursor.position - first
        guard digits > 0 else { throw unexpected("a digit") }
        guard digits == 1 || cursor.base[first] != UInt8(ascii: "0") else {
            throw malformed(.expected("a number without leading zeros", found: "0"), at: first)
        }
        let isReal = try fraction()
        let text = cursor.slice(start, cursor.position)
        if isReal { try real(text, at: start) } else { try integer(text, at: start) }
    }

    /// Steps over fraction and exponent; true where there was one of them.
    private mutating func fraction() throws(PropertyListError) -> Bool {
        var isReal = false
        if cursor.consume(".") {
            isReal = true
            guard let digit = cursor.current, isDigit(digit) else { throw unexpected("a digit") }
            cursor.skip(while: isDigit)
        }
        guard let mark = cursor.current, mark | 0x20 == UInt8(ascii: "e") else { return isReal }
        cursor.position += 1
        if cursor.current == UInt8(ascii: "+") || cursor.current == UInt8(ascii: "-") { cursor.position += 1 }
        guard let digit = cursor.current, isDigit(digit) else { throw unexpected("a digit") }
        cursor.skip(while: isDigit)
        return true
    }

    private mutating func integer(
        _ text: UnsafeBufferPointer<UInt8>, at start: Int
    ) throws(PropertyListError) {
        guard let number = IntegerText(text, allowsHexadecimal: false), try output.append(number) else {
            throw outOfRange("an integer of 64 bits", text, at: start)
        }
    }

    private mutating func real(_ text: UnsafeBufferPointer<UInt8>, at start: Int) throws(PropertyListError) {
        guard let value = realNumber(text), value.isFinite else { throw outOfRange("a Double", text, at: start) }
        try output.append(scalar: .real, value.bitPattern)
    }

    private func outOfRange(
        _ wanted: String, _ text: UnsafeBufferPointer<UInt8>, at start: Int
    ) -> PropertyListError {
        let shown = String(decoding: text.prefix(40), as: UTF8.self) + (text.count > 40 ? "…" : "")
        return PropertyListError(
            .invalidValue, .expected("\(wanted)", found: "\(shown)"), location: cursor.location(of: start))
    }
}

// MARK: - Strings

extension TextReader where Format == JSONReader {
    /// Appends the text in quotes that begins here to the output's bytes.
    private mutating func text() throws(PropertyListError) {
        let start = cursor.position
        cursor.position &+= 1
        while true {
            let piece = cursor.position
            cursor.position = cursor.endOfPlainJSON()
            output.bytes.append(cursor.slice(piece, cursor.position))
            guard let byte = cursor.current else { throw malformed(.expected("\"", found: "the end"), at: start) }
            if byte == UInt8(ascii: "\"") { break }
            guard byte == UInt8(ascii: "\\") else {
                throw unexpected("an escaped control character")
            }
            try escape()
        }
        cursor.position &+= 1
    }

    private mutating func escape() throws(PropertyListError) {
        let position = cursor.position
        guard let byte = cursor.byte(1) else { throw malformed(.expected("an escape", found: "the end")) }
        cursor.position += 2
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): output.bytes.append(byte)
        case UInt8(ascii: "b"): output.bytes.append(0x08)
        case UInt8(ascii: "f"): output.bytes.append(0x0C)
        case UInt8(ascii: "n"): output.bytes.append(0x0A)
        case UInt8(ascii: "r"): output.bytes.append(0x0D)
        case UInt8(ascii: "t"): output.bytes.append(0x09)
        case UInt8(ascii: "u"): output.bytes.append(try cursor.escapedScalar(from: position, shortest: 4))
        default: throw malformed(.expected("an escape", found: "\\\(cursor.found(at: position + 1))"), at: position)
        }
    }
}

extension TextCursor {
    /// The character of an escape whose backslash stands at `start`, with `shortest` to four hexadecimal digits from
    /// here on; of two such escapes where they are a surrogate pair.
    mutating func escapedScalar(from start: Int, shortest: Int) throws(PropertyListError) -> Unicode.Scalar {
        let letter = base[position &- 1]
        guard let unit = hexadecimal(shortest) else {
            let count = shortest == 4 ? "four" : "one to four"
            throw malformed("Expected \(count) hexadecimal digits of a character", at: start)
        }
        if let scalar = Unicode.Scalar(unit) { return scalar }
        let escape = String(decoding: slice(start, position), as: UTF8.self)
        if unit & 0xFC00 == 0xD800, current == UInt8(ascii: "\\"), byte(1) == letter {
            position += 2
            if let second = hexadecimal(shortest), second & 0xFC00 == 0xDC00,
                let scalar = Unicode.Scalar(0x10000 + ((unit & 0x3FF) << 10) + (second & 0x3FF))
            {
                return scalar
            }
        }
        throw malformed(.expected("a pair of surrogates", found: "\(escape) alone"), at: start)
    }

    private mutating func hexadecimal(_ shortest: Int) -> UInt32? {
        var value: UInt32 = 0
        for length in 0..<4 {
            guard let byte = current, let digit = hexadecimalValue(byte) else {
                return length >= shortest ? value : nil
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    /// The position of the next quote, backslash or control character, or the end.
    fileprivate func endOfPlainJSON() -> Int {
        var end = position
        while end < count {
            let byte = base[end]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            end &+= 1
        }
        return end
    }
}
