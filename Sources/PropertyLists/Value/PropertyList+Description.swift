internal import CKVCodable

extension PropertyList: CustomStringConvertible {
    /// The value on one line in Swift's spelling, for people to read: `["tags": ["a"], "width": 640]`.
    ///
    /// Dates are shown to the second, data by its size. A description longer than a thousand bytes ends with `…`, so
    /// that printing a large value costs little.
    public var description: String {
        let longest = 1_000
        var text = ""
        var walk = TreeWalk(of: self)
        var isFirst = true
        while let event = walk.next() {
            if case .end = event {
                text += "]"
                continue
            }
            guard text.utf8.count < longest else { return text + "…" }
            if !isFirst { text += ", " }
            if let key = walk.key { text += document.quoted(key, longest) + ": " }
            switch event {
            case .value(let node):
                text += document.described(node, longest)
                isFirst = false
            case .begin, .end:
                text += "["
                isFirst = true
            }
        }
        return text
    }
}

extension Document {
    /// A scalar or an empty container.
    fileprivate func described(_ node: kv_node, _ longest: Int) -> String {
        let number = Double(bitPattern: node.payload)
        return switch node.kind {
        case .null: "nil"
        case .boolean: node.payload != 0 ? "true" : "false"
        case .integer: "\(Int64(bitPattern: node.payload))"
        case .unsigned: "\(node.payload)"
        case .real: "\(number)"
        case .date: CalendarDate(secondsSince2001: number)?.description ?? "date(\(number))"
        case .uid: "UID(\(node.payload))"
        case .string: quoted(node, longest)
        case .data: "data(\(node.count) bytes)"
        case .array: "[]"
        case .dictionary: "[:]"
        }
    }

    /// The text of a string or key, in quotation marks; only its beginning where it is long.
    fileprivate func quoted(_ node: kv_node, _ longest: Int) -> String {
        let bytes = buffer(of: node)
        guard bytes.count > longest else { return String(decoding: bytes, as: UTF8.self).debugDescription }
        var end = longest
        while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return String(decoding: bytes.prefix(end), as: UTF8.self).debugDescription.dropLast() + "…\""
    }
}

extension CalendarDate {
    /// The moment as XML property lists write it.
    fileprivate var description: String {
        func digits(_ number: Int, _ count: Int) -> String {
            let text = "\(number)"
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
            + "T\(digits(hour, 2)):\(digits(minute, 2)):\(digits(second, 2))Z"
    }
}
