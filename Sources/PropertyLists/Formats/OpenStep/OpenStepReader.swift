/// Reads the text property lists of OpenStep and NeXT, and `.strings` files, which are such a dictionary without
/// braces.
///
/// `( … )` is an array, `{ key = value; }` a dictionary, `< … >` data in hexadecimal, everything else a string, in
/// quotes of either kind or without where it has only letters, digits and `_ $ / : . -`. In quotes, `\ooo` is a
/// character of the NeXTSTEP encoding and `\Uhhhh`, one to four digits, one of UTF-16. An entry `key;` without a value
/// has the key as its value; comments alone are `{}`, as in Xcode's template. GNUstep's typed values (`<*I5>`) do not
/// belong to this format, and are errors.
struct OpenStepReader: TextFormatReader {
    /// Whether the dictionary at the root has no braces.
    fileprivate var isStringsFile = false

    static func begin(_ reader: inout TextReader<Self>) throws(PropertyListError) {
        let hasComments = try reader.skipBlank()
        let isEmpty = hasComments && reader.cursor.position == reader.cursor.count
        let isStringsFile = try reader.beginsStringsFile()
        if isEmpty || isStringsFile {
            reader.format.isStringsFile = true
            try reader.open(isDictionary: true)
        } else {
            try reader.value()
        }
    }

    static func item(_ reader: inout TextReader<Self>) throws(PropertyListError) {
        try reader.skipBlank()
        if reader.isDictionary { try reader.entry() } else { try reader.element() }
    }

    static func end(_ reader: inout TextReader<Self>) throws(PropertyListError) {
        try reader.skipBlank()
        guard reader.cursor.position == reader.cursor.count else { throw reader.unexpected("the end") }
    }
}

extension TextReader where Format == OpenStepReader {
    /// Whether a string and `=` or `;` stand here.
    fileprivate mutating func beginsStringsFile() throws(PropertyListError) -> Bool {
        let start = (cursor.position, output.bytes.count)
        guard let first = cursor.current, isQuote(first) || isUnquoted(first) else { return false }
        try text()
        try skipBlank()
        let next = cursor.current
        (cursor.position, output.bytes.count) = start
        return next == UInt8(ascii: "=") || next == UInt8(ascii: ";")
    }

    /// Steps over whitespace and comments; true where there was a comment.
    @discardableResult
    fileprivate mutating func skipBlank() throws(PropertyListError) -> Bool {
        var hasComments = false
        while true {
            cursor.skip { isWhitespace($0) || $0 == 0x0B || $0 == 0x0C }
            // U+2028 and U+2029, the separators of lines and paragraphs.
            if cursor.consume("\u{2028}") || cursor.consume("\u{2029}") { continue }
            let start = cursor.position
            if cursor.consume("//") {
                cursor.skip { $0 != 0x0A && $0 != 0x0D }
            } else if cursor.consume("/*") {
                guard cursor.skip(behind: "*/") else { throw malformed(.expected("*/", found: "the end"), at: start) }
            } else {
                return hasComments
            }
            hasComments = true
        }
    }

    fileprivate mutating func entry() throws(PropertyListError) {
        if format.isStringsFile && depth == 1 {
            if cursor.position == cursor.count { return try endContainer() }
        } else if cursor.consume("}") {
            return try endContainer()
        }
        let start = output.bytes.count
        try text("a key or }")
        try output.appendKey(storedFrom: start)
        try skipBlank()
        if cursor.current == UInt8(ascii: ";") {
            try repeatKey(from: start)
            try endValue()
            return
        }
        guard cursor.consume("=") else { throw unexpected("=") }
        try skipBlank()
        try value()
    }

    /// Appends the key's text once more, as its value.
    private mutating func repeatKey(from start: Int) throws(PropertyListError) {
        let end = output.bytes.count
        output.bytes.reserve(end - start)
        output.bytes.append(UnsafeBufferPointer(rebasing: output.bytes.contents[start..<end]))
        try output.append(storedFrom: end, as: .string)
    }

    fileprivate mutating func element() throws(PropertyListError) {
        if cursor.consume(")") { return try endContainer() }
        try value()
    }

    fileprivate mutating func value() throws(PropertyListError) {
        switch cursor.current {
        case UInt8(ascii: "{"):
            cursor.position += 1
            try open(isDictionary: true)
        case UInt8(ascii: "("):
            cursor.position += 1
            try open(isDictionary: false)
        case UInt8(ascii: "<"):
            try data()
            try endValue()
        default:
            let start = output.bytes.count
            try text("a value")
            try output.append(storedFrom: start, as: .string)
            try endValue()
        }
    }

    private mutating func endContainer() throws(PropertyListError) {
        try close()
        try endValue()
    }

    /// Steps over the separator behind a value: `;` behind an entry, and `,` behind an element but the last.
    private mutating func endValue() throws(PropertyListError) {
        guard depth > 0 else { return }
        try skipBlank()
        if isDictionary {
            guard cursor.consume(";") else { throw unexpected(";") }
        } else if !cursor.consume(",") {
            guard cursor.current == UInt8(ascii: ")") else { throw unexpected(", or )") }
        }
    }
}

// MARK: - Strings and data

extension TextReader where Format == OpenStepReader {
    /// Appends the string that begins here to the output's bytes.
    private mutating func text(_ wanted: String = "a string") throws(PropertyListError) {
        guard let first = cursor.current, isQuote(first) || isUnquoted(first) else { throw unexpected(wanted) }
        let start = cursor.position
        guard isQuote(first) else {
            cursor.skip(while: isUnquoted)
            output.bytes.append(cursor.slice(start, cursor.position))
            return
        }
        cursor.position += 1
        while true {
            let piece = cursor.position
            cursor.skip { $0 != first && $0 != UInt8(ascii: "\\") }
            output.bytes.append(cursor.slice(piece, cursor.position))
            guard let byte = cursor.current, cursor.byte(1) != nil || byte == first else {
                throw malformed(.expected("a closing quote", found: "the end"), at: start)
            }
            cursor.position += 1
            if byte == first { return }
            try escape()
        }
    }

    /// The escape behind a backslash; an unknown one stands for its character, as Foundation takes it.
    private mutating func escape() throws(PropertyListError) {
        let position = cursor.position - 1
        guard let byte = cursor.current else { return }
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            guard let scalar = octalScalar() else {
                throw malformed(.expected("a character of the NeXTSTEP encoding", found: "none"), at: position)
            }
            return output.bytes.append(scalar)
        case UInt8(ascii: "a"): output.bytes.append(0x07)
        case UInt8(ascii: "b"): output.bytes.append(0x08)
        case UInt8(ascii: "f"): output.bytes.append(0x0C)
        case UInt8(ascii: "n"): output.bytes.append(0x0A)
        case UInt8(ascii: "r"): output.bytes.append(0x0D)
        case UInt8(ascii: "t"): output.bytes.append(0x09)
        case UInt8(ascii: "v"): output.bytes.append(0x0B)
        case UInt8(ascii: "U"):
            cursor.position += 1
            return output.bytes.append(try cursor.escapedScalar(from: position, shortest: 1))
        default: output.bytes.append(byte)
        }
        cursor.position += 1
    }

    /// The character of one to three octal digits in the NeXTSTEP encoding.
    private mutating func octalScalar() -> Unicode.Scalar? {
        var value = 0
        for _ in 0..<3 {
            guard let byte = cursor.current, (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(byte) else { break }
            value = value * 8 + Int(byte - UInt8(ascii: "0"))
            cursor.position += 1
        }
        return NextStepEncoding.scalar(UInt8(truncatingIfNeeded: value))
    }

    private mutating func data() throws(PropertyListError) {
        let position = cursor.position
        let start = output.bytes.count
        cursor.position += 1
        while true {
            try skipBlank()
            guard let byte = cursor.current else { throw malformed(.expected(">", found: "the end"), at: position) }
            if byte == UInt8(ascii: ">") { break }
            guard let high = hexadecimalValue(byte) else { throw unexpected("a hexadecimal digit or >") }
            cursor.position += 1
            guard let next = cursor.current, let low = hexadecimalValue(next) else {
                throw unexpected("a second hexadecimal digit")
            }
            cursor.position += 1
            output.bytes.append(high << 4 | low)
        }
        cursor.position += 1
        try output.append(storedFrom: start, as: .data)
    }
}

private func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

private func isUnquoted(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "/"),
        UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "-"):
        return true
    default: return false
    }
}
