internal import CKVCodable

/// Writes JSON on one line, keys sorted, nothing escaped that need not be.
///
/// JSON has no date, data or UID, and no number that is not finite: each is an error with its path. A real keeps its
/// point, `1.0`, so that it is read as a real again.
struct JSONWriter: TextFormatWriter {
    fileprivate var needsComma = false

    static func write(_ writer: inout TextWriter<Self>) throws(PropertyListError) { try writer.write() }
}

extension TextWriter<JSONWriter> {
    fileprivate mutating func write() throws(PropertyListError) {
        while let event = walk.next() {
            switch event {
            case .value(let node):
                beginValue()
                try value(node)
                format.needsComma = true
            case .begin(let node):
                beginValue()
                output.append(node.kind == .array ? UInt8(ascii: "[") : UInt8(ascii: "{"))
                format.needsComma = false
            case .end(let kind):
                output.append(kind == .array ? UInt8(ascii: "]") : UInt8(ascii: "}"))
                format.needsComma = true
            }
        }
    }

    private mutating func beginValue() {
        if format.needsComma { output.append(UInt8(ascii: ",")) }
        guard let key = walk.key else { return }
        text(document.buffer(of: key))
        output.append(UInt8(ascii: ":"))
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
