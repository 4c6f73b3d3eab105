internal import CKVCodable

extension TextReader where Format == XMLReader {
    /// Reads the next item of the open container: an element, an entry, or the container's end.
    mutating func item() throws(PropertyListError) {
        try skipMarkup()
        if cursor.current == UInt8(ascii: "<"), cursor.byte(1) == UInt8(ascii: "/") { return try closeContainer() }
        if isDictionary {
            try key()
            try skipMarkup()
        }
        try value()
    }

    mutating func closeContainer() throws(PropertyListError) {
        if isDictionary {
            try close("dict")
            if let uid = output.uidOfOpenDictionary {
                try output.endDictionary(asUID: uid)
                return leave()
            }
        } else {
            try close("array")
        }
        try close()
    }

    mutating func key() throws(PropertyListError) {
        let position = cursor.position
        guard cursor.consume("<key"), let next = cursor.current, !isNameByte(next) else {
            throw malformed(.expected("<key>", found: "\(found)"), at: position)
        }
        let start = output.bytes.count
        if try !tagEnd() {
            try text()
            try close("key")
        }
        try output.appendKey(storedFrom: start)
    }

    private var found: String {
        cursor.position >= cursor.count
            ? "the end" : cursor.current == UInt8(ascii: "<") ? tag(at: cursor.position) : "text"
    }

    /// An element that is a value.
    mutating func value() throws(PropertyListError) {
        let position = cursor.position
        guard cursor.current == UInt8(ascii: "<"), let first = cursor.byte(1) else {
            throw malformed(.expected("a value", found: "\(found)"))
        }
        cursor.position &+= 1
        switch first {
        case UInt8(ascii: "s"):
            if try element("string") { return try string() }
        case UInt8(ascii: "i"):
            if try element("integer") { return try scalar("integer") }
        case UInt8(ascii: "d"):
            if try element("dict") { return try begin(isDictionary: true) }
            if try element("data") { return try data() }
            if try element("date") { return try scalar("date") }
        case UInt8(ascii: "a"):
            if try element("array") { return try begin(isDictionary: false) }
        case UInt8(ascii: "r"):
            if try element("real") { return try scalar("real") }
        case UInt8(ascii: "t"):
            if try element("true") { return try boolean(true, "true") }
        case UInt8(ascii: "f"):
            if try element("false") { return try boolean(false, "false") }
        default: break
        }
        cursor.position = position
        throw malformed(.expected("a value", found: "\(found)"))
    }

    /// Steps over the name of an element, the whole of it.
    private mutating func element(_ name: StaticString) throws(PropertyListError) -> Bool {
        guard cursor.isAt(name) else { return false }
        guard let next = cursor.byte(name.utf8CodeUnitCount), !isNameByte(next) else { return false }
        cursor.position &+= name.utf8CodeUnitCount
        return true
    }

    private mutating func begin(isDictionary: Bool) throws(PropertyListError) {
        try open(isDictionary: isDictionary)
        if try tagEnd() { try close() }
    }

    private mutating func boolean(_ value: Bool, _ name: StaticString) throws(PropertyListError) {
        if try !tagEnd() {
            cursor.skipWhitespace()
            try close(name)
        }
        try output.append(scalar: .boolean, value ? 1 : 0)
    }

    private mutating func string() throws(PropertyListError) {
        let start = output.bytes.count
        if try !tagEnd() {
            try text()
            try close("string")
        }
        try output.append(storedFrom: start, as: .string)
    }

    /// An integer, real or date: its text is stored like a string's, looked at, and dropped again.
    private mutating func scalar(_ name: StaticString) throws(PropertyListError) {
        let position = cursor.position - name.utf8CodeUnitCount - 1
        let start = output.bytes.count
        if try !tagEnd() {
            try text()
            try close(name)
        }
        let text = trimmed(output.bytes.contents, from: start)
        do throws(PropertyListError) {
            switch name.utf8Start[0] {
            case UInt8(ascii: "i"): try integer(text)
            case UInt8(ascii: "r"): try real(text)
            default: try date(text)
            }
        } catch {
            var error = error
            error.location = cursor.location(of: position)
            throw error
        }
        output.bytes.count = start
    }

    private func trimmed(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> UnsafeBufferPointer<UInt8> {
        var (start, end) = (start, bytes.count)
        while start < end, isWhitespace(bytes[start]) { start += 1 }
        while end > start, isWhitespace(bytes[end - 1]) { end -= 1 }
        return UnsafeBufferPointer(rebasing: bytes[start..<end])
    }

    private mutating func integer(_ text: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        guard let number = IntegerText(text) else {
            throw PropertyListError(.malformed, .expected("an integer", found: "\(shown(text))"))
        }
        guard try output.append(number) else {
            throw PropertyListError(.invalidValue, .expected("an integer of 64 bits", found: "\(shown(text))"))
        }
    }

    private mutating func real(_ text: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        guard let value = realNumber(text) ?? namedReal(text) else {
            throw PropertyListError(.malformed, .expected("a real number", found: "\(shown(text))"))
        }
        try output.append(scalar: .real, value.bitPattern)
    }

    private mutating func date(_ text: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        guard let whole = CalendarDate(text)?.secondsSince2001 else {
            throw PropertyListError(
                .malformed, .expected("a date such as 2001-01-01T00:00:00Z", found: "\(shown(text))"))
        }
        // Where the element was edited, the instruction counts for nothing.
        let exact = exactDate().flatMap { $0.rounded(.down) == whole ? $0 : nil }
        try output.append(scalar: .date, (exact ?? whole).bitPattern)
    }

    private func shown(_ text: UnsafeBufferPointer<UInt8>) -> String {
        guard !text.isEmpty else { return "nothing" }
        return "\"" + String(decoding: text.prefix(40), as: UTF8.self) + (text.count > 40 ? "…\"" : "\"")
    }

    /// The seconds in the instruction that the writer puts behind a date: `<?seconds-since-2001 0.5?>`.
    private mutating func exactDate() -> Double? {
        var ahead = cursor
        guard ahead.consume(XMLWriter.exactDate) else { return nil }
        let start = ahead.position
        ahead.skip { $0 != UInt8(ascii: "?") }
        return realNumber(ahead.slice(start, ahead.position))
    }

    private mutating func data() throws(PropertyListError) {
        let position = cursor.position - "<data".utf8.count
        let start = output.bytes.count
        var element = cursor.slice(position, position)
        if try !tagEnd() {
            let first = cursor.position
            try text()
            element = cursor.slice(first, cursor.position)
            try close("data")
        }
        guard decodeBase64(from: start) else { throw notBase64(element, at: position) }
        try output.append(storedFrom: start, as: .data)
    }

    /// The error at the first character that is wrong; at the element where there are comments or references in it.
    private func notBase64(_ element: UnsafeBufferPointer<UInt8>, at position: Int) -> PropertyListError {
        guard isPlain(element), let fault = Base64.fault(in: element), let first = element.baseAddress else {
            return malformed(.expected("base64", found: "something else"), at: position)
        }
        let index = first - cursor.base + fault
        guard fault < element.count else {
            return malformed(.expected("base64 with all its digits and padding", found: "its end"), at: index)
        }
        return malformed(.expected("base64", found: "\(cursor.found(at: index))"), at: index)
    }

    private func isPlain(_ element: UnsafeBufferPointer<UInt8>) -> Bool {
        !element.contains { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }
    }

    /// Decodes the text stored from `start` on, in place.
    private mutating func decodeBase64(from start: Int) -> Bool {
        guard let base = output.bytes.base else { return true }
        let text = UnsafeMutableBufferPointer(start: base + start, count: output.bytes.count - start)
        guard let count = Base64.decode(inPlace: text) else { return false }
        output.bytes.count = start + count
        return true
    }
}
