extension TextReader where Format == XMLReader {
    /// Appends the text up to the next end tag to the output's bytes, with entities replaced.
    mutating func text() throws(PropertyListError) {
        while true {
            let start = cursor.position
            let end = cursor.endOfPlainText()
            output.bytes.append(cursor.slice(start, end))
            cursor.position = end
            if cursor.byte(1) == UInt8(ascii: "/"), cursor.current == UInt8(ascii: "<") { return }
            try special()
        }
    }

    /// Reads an interruption of a text: a reference, a CDATA section, a comment, a processing instruction.
    private mutating func special() throws(PropertyListError) {
        let start = cursor.position
        guard let byte = cursor.current else { throw malformed(.expected("an end tag", found: "the end")) }
        if byte == UInt8(ascii: "&") { return try reference() }
        if cursor.consume("<![CDATA[") {
            let first = cursor.position
            guard cursor.skip(behind: "]]>") else { throw malformed(.expected("]]>", found: "the end"), at: start) }
            output.bytes.append(cursor.slice(first, cursor.position - 3))
        } else if try !skipCommentOrInstruction() {
            throw malformed(.expected("an end tag", found: "\(tag(at: start))"))
        }
    }

    private mutating func reference() throws(PropertyListError) {
        let start = cursor.position
        cursor.position += 1
        if cursor.consume("amp;") {
            output.bytes.append(UInt8(ascii: "&"))
        } else if cursor.consume("lt;") {
            output.bytes.append(UInt8(ascii: "<"))
        } else if cursor.consume("gt;") {
            output.bytes.append(UInt8(ascii: ">"))
        } else if cursor.consume("quot;") {
            output.bytes.append(UInt8(ascii: "\""))
        } else if cursor.consume("apos;") {
            output.bytes.append(UInt8(ascii: "'"))
        } else if cursor.consume("#"), let number = numericReference() {
            guard let scalar = Unicode.Scalar(number) else {
                throw malformed(.expected("a character", found: "a lone surrogate"), at: start)
            }
            output.bytes.append(scalar)
        } else {
            throw malformed("Expected one of XML's five entities or a numeric reference", at: start)
        }
    }

    /// The number of `#38;` or `#x26;`, behind the `#`, at most U+10FFFF; nil where there is none.
    ///
    /// XML forbids control characters even so; they are taken, since Apple's readers and files have them.
    private mutating func numericReference() -> UInt32? {
        let radix: UInt32 = cursor.consume("x") ? 16 : 10
        var value: UInt32 = 0
        var digits = 0
        while let byte = cursor.current, let digit = hexadecimalValue(byte), digit < radix {
            value = value * radix + UInt32(digit)
            guard value <= 0x10FFFF else { return nil }
            digits += 1
            cursor.position += 1
        }
        guard digits > 0, cursor.consume(";") else { return nil }
        return value
    }
}

extension TextCursor {
    /// The position of the next `<` or `&`, or the end.
    fileprivate func endOfPlainText() -> Int {
        var end = position
        while count &- end >= 8 {
            let word = UnsafeRawPointer(base + end).loadUnaligned(as: UInt64.self)
            let found = zeroBytes(word ^ 0x3C3C_3C3C_3C3C_3C3C) | zeroBytes(word ^ 0x2626_2626_2626_2626)
            if found != 0 { return end &+ UInt64(littleEndian: found).trailingZeroBitCount / 8 }
            end &+= 8
        }
        while end < count, base[end] != UInt8(ascii: "<"), base[end] != UInt8(ascii: "&") { end &+= 1 }
        return end
    }
}
