internal import CKVCodable

/// Writes XML in the layout of Apple's writers: header, document type, tabs, base64 in lines.
///
/// Decisions beyond the layout:
/// - A real is written with the fewest digits that read back to the same number.
/// - A date is written to the second, as the format asks. Where it has a fraction, the processing instruction
///   `<?seconds-since-2001 785404800.25?>` follows it: other readers skip it and see the whole second, ours gives the
///   date back exactly. Where the instruction does not fit the date, because the date was edited, it counts for
///   nothing.
/// - A UID is the dictionary `{CF$UID: number}`, as Apple's keyed archives have it.
/// - A return is written `&#13;`, since an XML parser would make a newline of it.
struct XMLWriter: TextFormatWriter {
    static let declaration: StaticString = #"<?xml version="1.0" encoding="UTF-8"?>"#
    /// The beginning of the instruction behind a date.
    static let exactDate: StaticString = "<?seconds-since-2001 "

    /// How many containers the value stands in that is written, where it is a part of a file.
    var outerDepth = 0
    /// The indentation of the file that the value is a part of; nil for tabs.
    var indentation: XMLIndentation?

    static func write(_ writer: inout TextWriter<Self>) throws(PropertyListError) { try writer.write() }
}

extension TextWriter<XMLWriter> {
    fileprivate mutating func write() throws(PropertyListError) {
        append(XMLWriter.declaration)
        append(
            """

            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">

            """)
        try lines()
        append("</plist>\n")
    }

    /// Writes the values that are left to walk, each on a line of its own.
    mutating func lines() throws(PropertyListError) {
        while let event = try next() {
            switch event {
            case .value(let node):
                try beginLine(depth: walk.depth)
                try value(node)
            case .begin(let node):
                try beginLine(depth: walk.depth &- 1)
                begin(node)
            case .end(let kind):
                indent(walk.depth)
                append(kind == .array ? "</array>\n" : "</dict>\n")
            }
        }
    }

    mutating func begin(_ node: kv_node) { append(node.kind == .array ? "<array>\n" : "<dict>\n") }

    /// Begins the line of the value that comes now, with its key's before it where it has one.
    private mutating func beginLine(depth: Int) throws(PropertyListError) {
        if let key = walk.key {
            indent(depth)
            try self.key(key)
            append("\n")
        }
        indent(depth)
    }

    mutating func key(_ key: kv_node) throws(PropertyListError) {
        append("<key>")
        try text(document.buffer(of: key))
        append("</key>")
    }

    /// Writes a scalar or an empty container, and ends its line.
    mutating func value(_ node: kv_node) throws(PropertyListError) {
        switch node.kind {
        case .string:
            append("<string>")
            try text(document.buffer(of: node))
            append("</string>\n")
        case .integer:
            append("<integer>")
            output.append(decimal: Int64(bitPattern: node.payload))
            append("</integer>\n")
        case .boolean: append(node.payload != 0 ? "<true/>\n" : "<false/>\n")
        case .array: append("<array/>\n")
        case .dictionary: append("<dict/>\n")
        default: try rareValue(node)
        }
    }

    private mutating func rareValue(_ node: kv_node) throws(PropertyListError) {
        switch node.kind {
        case .real: real(Double(bitPattern: node.payload))
        case .date: try date(Double(bitPattern: node.payload))
        case .data: data(document.buffer(of: node))
        case .uid: uid(node.payload)
        case .unsigned:
            append("<integer>")
            output.append(decimal: node.payload)
            append("</integer>\n")
        default: throw unwritable(.expected("a value that XML can hold", found: "nil"))
        }
    }

    private mutating func real(_ value: Double) {
        append("<real>")
        if value.isFinite {
            output.append(shortest: value, keepsPoint: false)
        } else {
            append(value.isNaN ? "nan" : value < 0 ? "-infinity" : "+infinity")
        }
        append("</real>\n")
    }

    private mutating func date(_ seconds: Double) throws(PropertyListError) {
        guard let date = CalendarDate(secondsSince2001: seconds) else {
            throw unwritable(
                .expected(
                    "a date from year 0 to 9999", found: "\(seconds) seconds since 2001", advice: "binary can hold it"))
        }
        append("<date>")
        date.write(to: &output)
        append("</date>")
        // A fraction, or the sign of zero.
        if seconds.bitPattern != date.secondsSince2001.bitPattern {
            append(XMLWriter.exactDate)
            output.append(shortest: seconds, keepsPoint: false)
            append("?>")
        }
        append("\n")
    }

    /// As in Apple's files, a line has 76 characters less eight for each tab before it, and at least 12.
    private mutating func data(_ bytes: UnsafeBufferPointer<UInt8>) {
        append("<data>\n")
        let depth = min(walk.depth + format.outerDepth, 8)
        let length = (76 - 8 * depth + 3) / 4 * 3
        for start in stride(from: 0, to: bytes.count, by: length) {
            indent(depth - format.outerDepth)
            Base64.encode(UnsafeBufferPointer(rebasing: bytes[start..<min(start + length, bytes.count)]), to: &output)
            append("\n")
        }
        indent(walk.depth)
        append("</data>\n")
    }

    private mutating func uid(_ number: UInt64) {
        let depth = walk.depth
        append("<dict>\n")
        indent(depth + 1)
        append("<key>CF$UID</key>\n")
        indent(depth + 1)
        append("<integer>")
        output.append(decimal: number)
        append("</integer>\n")
        indent(depth)
        append("</dict>\n")
    }
}

// MARK: - Text

extension TextWriter<XMLWriter> {
    /// Appends text with the characters that XML cannot hold replaced; eight bytes at a time where there are none.
    mutating func text(_ text: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        guard let base = text.baseAddress else { return }
        output.reserve(text.count)
        var start = 0
        var position = 0
        while position < text.count {
            if text.count &- position >= 8,
                !needsCare(UnsafeRawPointer(base + position).loadUnaligned(as: UInt64.self))
            {
                position &+= 8
                continue
            }
            let byte = base[position]
            if byte >= 0x20 && byte != UInt8(ascii: "<") && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "&")
                && byte != 0xEF
            {
                position &+= 1
                continue
            }
            output.append(UnsafeBufferPointer(start: base + start, count: position - start))
            start = position
            let isReplaced = try replace(text, position)
            position &+= 1
            if isReplaced { start = position }
        }
        output.append(UnsafeBufferPointer(start: base + start, count: position - start))
    }

    /// Whether one of eight bytes is a control character, `<`, `>`, `&`, or the first byte of U+FFFE and U+FFFF.
    private func needsCare(_ word: UInt64) -> Bool {
        let control = (word &- 0x2020_2020_2020_2020) & ~word
        let less = zeroBytes(word ^ 0x3C3C_3C3C_3C3C_3C3C)
        let greater = zeroBytes(word ^ 0x3E3E_3E3E_3E3E_3E3E)
        let ampersand = zeroBytes(word ^ 0x2626_2626_2626_2626)
        let noncharacter = zeroBytes(word ^ 0xEFEF_EFEF_EFEF_EFEF)
        return (control | less | greater | ampersand | noncharacter) & 0x8080_8080_8080_8080 != 0
    }

    /// Appends the escape of a byte that XML cannot hold as it is; false for a byte that it can.
    private mutating func replace(
        _ text: UnsafeBufferPointer<UInt8>, _ position: Int
    ) throws(PropertyListError) -> Bool {
        switch text[position] {
        case UInt8(ascii: "<"): append("&lt;")
        case UInt8(ascii: ">"): append("&gt;")
        case UInt8(ascii: "&"): append("&amp;")
        case 0x0D: append("&#13;")
        case 0x09, 0x0A: return false
        case 0xEF:
            // Valid UTF-8: two more bytes follow. EF BF BE and EF BF BF are the two noncharacters that XML excludes.
            guard text[position + 1] == 0xBF, text[position + 2] >= 0xBE else { return false }
            throw unwritable(.expected("text that XML can hold", found: "a noncharacter", advice: "binary can hold it"))
        case let byte:
            let number = "U+00" + String(byte / 16) + String(byte % 16, radix: 16, uppercase: true)
            throw unwritable(
                .expected("text that XML can hold", found: "control character \(number)", advice: "binary can hold it"))
        }
        return true
    }

    private mutating func append(_ text: StaticString) {
        output.append(text: text)
    }

    /// Begins a line in `depth` of the containers that are walked.
    mutating func indent(_ depth: Int) {
        if let indentation = format.indentation {
            indentation.write(depth &+ format.outerDepth, to: &output)
        } else {
            output.append(tabs: depth &+ format.outerDepth)
        }
    }
}
