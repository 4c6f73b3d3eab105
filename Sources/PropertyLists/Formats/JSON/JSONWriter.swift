internal import CKVCodable

/// Writes JSON on one line, keys sorted, nothing escaped that need not be; or for people, a line for each value.
///
/// JSON has no date, data or UID, and no number that is not finite: each is an error with its path. A real keeps its
/// point, `1.0`, so that it is read as a real again.
struct JSONWriter: TextFormatWriter {
    fileprivate var needsComma = false
    /// The number of containers that are open; nil where all is on one line.
    fileprivate var depth: Int?

    static func write(_ writer: inout TextWriter<Self>) throws(PropertyListError) { try writer.write() }

    /// Writes a line for each value, indented by two spaces, and a newline at the end.
    static func writeLines(
        _ list: PropertyList, to output: inout GrowableBuffer<UInt8>, size: Int
    ) throws(PropertyListError) {
        var writer = TextWriter<Self>(list, output, size: size)
        output = GrowableBuffer()
        writer.format.depth = 0
        try writer.write()
        writer.output.append(UInt8(ascii: "\n"))
        output = writer.takeOutput()
    }
}

extension TextWriter<JSONWriter> {
    fileprivate mutating func write() throws(PropertyListError) {
        while let event = try next() {
            switch event {
            case .value(let node):
                beginValue()
                try value(node)
                format.needsComma = true
            case .begin(let node):
                beginValue()
                output.append(node.kind == .array ? UInt8(ascii: "[") : UInt8(ascii: "{"))
                format.needsComma = false
                format.depth = format.depth.map { $0 + 1 }
            case .end(let kind):
                format.depth = format.depth.map { $0 - 1 }
                beginLine()
                output.append(kind == .array ? UInt8(ascii: "]") : UInt8(ascii: "}"))
            }
        }
    }

    private mutating func beginValue() {
        if format.needsComma { output.append(UInt8(ascii: ",")) }
        beginLine()
        guard let key = walk.key else { return }
        text(document.buffer(of: key))
        output.append(UInt8(ascii: ":"))
        if format.depth != nil { output.append(UInt8(ascii: " ")) }
    }

    private mutating func beginLine() {
        guard let depth = format.depth, output.count > 0 else { return }
        output.append(UInt8(ascii: "\n"))
        for _ in 0..<depth { output.append(text: "  ") }
    }

    private mutating func value(_ node: kv_node) throws(PropertyListError) {
        switch node.kind {
        case .string: text(document.buffer(of: node))
        case .integer: output.append(decimal: Int64(bitPattern: node.payload))
        case .unsigned: output.append(decimal: node.payload)
        case .boolean: output.append(text: node.payload != 0 ? "true" : "false")
        case .null: output.append(text: "null")
        case .array: output.append(text: "[]")
        case .dictionary: output.append(text: "{}")
        case .real:
            let value = Double(bitPattern: node.payload)
            guard value.isFinite else { throw error("\(value)") }
            output.append(shortest: value, keepsPoint: true)
        case .date, .data, .uid: throw error("\(node.kind)")
        }
    }

    private mutating func text(_ text: UnsafeBufferPointer<UInt8>) {
        output.append(UInt8(ascii: "\""))
        var start = 0
        for position in 0..<text.count {
            let byte = text[position]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            output.append(UnsafeBufferPointer(rebasing: text[start..<position]))
            escape(byte)
            start = position + 1
        }
        output.append(UnsafeBufferPointer(rebasing: text[start...]))
        output.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case 0x08: output.append(text: "\\b")
        case 0x09: output.append(text: "\\t")
        case 0x0A: output.append(text: "\\n")
        case 0x0C: output.append(text: "\\f")
        case 0x0D: output.append(text: "\\r")
        case 0..<0x20:
            let digits: StaticString = "0123456789abcdef"
            output.append(text: "\\u00")
            output.append(digits.utf8Start[Int(byte >> 4)])
            output.append(digits.utf8Start[Int(byte & 15)])
        default:
            output.append(UInt8(ascii: "\\"))
            output.append(byte)
        }
    }

    private func error(_ found: String) -> PropertyListError {
        unwritable(.expected("a value that JSON can hold", found: "\(found)"))
    }
}
