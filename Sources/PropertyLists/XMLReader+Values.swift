internal import CKVCodable

extension XMLReader {
    /// What comes next in the container that is open: an element, an entry, or its end.
    @inline(__always) mutating func item() throws(PropertyListError) {
        try skipMarkup()
        if cursor.current == UInt8(ascii: "<"), cursor.byte(1) == UInt8(ascii: "/") { return try closeContainer() }
        if isDictionary {
            try key()
            try skipMarkup()
        }
        try value()
    }

    private mutating func closeContainer() throws(PropertyListError) {
        if isDictionary {
            try close("dict")
            if let uid = builder.uidOfOpenDictionary {
                try builder.endDictionary(asUID: uid)
            } else {
                try builder.end()
            }
        } else {
            try close("array")
            try builder.end()
        }
        isDictionary = outer[outer.count - 1]
        outer.count -= 1
    }

    private mutating func key() throws(PropertyListError) {
        let position = cursor.position
        guard cursor.consume("<key"), let next = cursor.current, !isNameByte(next) else {
            throw malformed("Expected <key>, found \(found)", at: position)
        }
        let start = builder.bytes.count
        if try !tagEnd() {
            try text()
            try close("key")
        }
        try builder.appendKey(storedFrom: start)
    }

    private var found: String {
        cursor.position >= cursor.count
            ? "the end" : cursor.current == UInt8(ascii: "<") ? tag(at: cursor.position) : "text"
    }

    /// An element that is a value.
    @inline(__always) mutating func value() throws(PropertyListError) {
        let position = cursor.position
        guard cursor.current == UInt8(ascii: "<"), let first = cursor.byte(1) else {
            throw malformed("Expected a value, found \(found)")
        }
        cursor.position &+= 1
        switch first {
        case UInt8(ascii: "s"):
            if try element("string") { return try string() }
        case UInt8(ascii: "i"):
            if try element("integer") { return try scalar("integer") }
        case UInt8(ascii: "d"):
            if try element("dict") { return try open(isDictionary: true) }
            if try element("data") { return try data() }
            if try element("date") { return try scalar("date") }
        case UInt8(ascii: "a"):
            if try element("array") { return try open(isDictionary: false) }
        case UInt8(ascii: "r"):
            if try element("real") { return try scalar("real") }
        case UInt8(ascii: "t"):
            if try element("true") { return try boolean(true, "true") }
        case UInt8(ascii: "f"):
            if try element("false") { return try boolean(false, "false") }
        default: break
        }
        cursor.position = position
        throw malformed("Expected a value, found \(found)")
    }

    /// Steps over the name of an element, the whole of it.
    @inline(__always) private mutating func element(_ name: StaticString) throws(PropertyListError) -> Bool {
        guard cursor.isAt(name) else { return false }
        guard let next = cursor.byte(name.utf8CodeUnitCount), !isNameByte(next) else { return false }
        cursor.position &+= name.utf8CodeUnitCount
        return true
    }

    private mutating func open(isDictionary isInner: Bool) throws(PropertyListError) {
        if isInner { try builder.beginDictionary() } else { try builder.beginArray() }
        if try tagEnd() { return try builder.end() }
        outer.append(isDictionary)
        isDictionary = isInner
    }

    private mutating func boolean(_ value: Bool, _ name: StaticString) throws(PropertyListError) {
        if try !tagEnd() {
            cursor.skipWhitespace()
            try close(name)
        }
        try builder.append(boolean: value)
    }

    @inline(__always) private mutating func string() throws(PropertyListError) {
        let start = builder.bytes.count
        if try !tagEnd() {
            try text()
            try close("string")
        }
        try builder.append(storedFrom: start, as: .string)
    }

    /// An integer, real or date: its text is stored like a string's, looked at, and dropped again.
    private mutating func scalar(_ name: StaticString) throws(PropertyListError) {
        let position = cursor.position - name.utf8CodeUnitCount - 1
        let start = builder.bytes.count
        if try !tagEnd() {
            try text()
            try close(name)
        }
        let text = trimmed(builder.bytes.contents, from: start)
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
        builder.bytes.count = start
    }

    private func trimmed(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> UnsafeBufferPointer<UInt8> {
        var (start, end) = (start, bytes.count)
        while start < end, isWhitespace(bytes[start]) { start += 1 }
        while end > start, isWhitespace(bytes[end - 1]) { end -= 1 }
        return UnsafeBufferPointer(rebasing: bytes[start..<end])
    }

    private mutating func integer(_ text: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        switch IntegerText(text) {
        case .integer(let value): try builder.append(integer: value)
        case .unsigned(let value): try builder.append(unsigned: value)
        case .tooLarge:
            throw PropertyListError(.invalidValue, "Expected an integer of 64 bits, found \(shown(text))")
        case .none: throw PropertyListError(.malformed, "Expected an integer, found \(shown(text))")
        }
    }

    private mutating func real(_ text: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        guard let value = realNumber(text) ?? namedReal(text) else {
            throw PropertyListError(.malformed, "Expected a real number, found \(shown(text))")
        }
        try builder.append(real: value)
    }

    private mutating func date(_ text: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        guard let whole = CalendarDate(text)?.secondsSince2001 else {
            throw PropertyListError(.malformed, "Expected a date such as 2001-01-01T00:00:00Z, found \(shown(text))")
        }
        try builder.append(date: exactDate() ?? whole, within: whole)
    }

    private func shown(_ text: UnsafeBufferPointer<UInt8>) -> String {
        guard !text.isEmpty else { return "nothing" }
        return "\"" + String(decoding: text.prefix(40), as: UTF8.self) + (text.count > 40 ? "…\"" : "\"")
    }

    /// The seconds in the instruction that the writer puts behind a date: `<?seconds-since-2001 0.5?>`.
    private mutating func exactDate() -> Double? {
        var ahead = cursor
        guard ahead.consume("<?seconds-since-2001 ") else { return nil }
        let start = ahead.position
        ahead.skip { $0 != UInt8(ascii: "?") }
        return realNumber(ahead.slice(start, ahead.position))
    }

    private mutating func data() throws(PropertyListError) {
        let position = cursor.position - "<data".utf8.count
        let start = builder.bytes.count
        if try !tagEnd() {
            try text()
            try close("data")
        }
        if let base = builder.bytes.base {
            let text = UnsafeMutableBufferPointer(start: base + start, count: builder.bytes.count - start)
            guard let count = Base64.decode(inPlace: text) else {
                throw malformed("Expected base64, found something else", at: position)
            }
            builder.bytes.count = start + count
        }
        try builder.append(storedFrom: start, as: .data)
    }
}

extension PropertyListBuilder {
    /// Appends `date` where it lies in the second that begins at `whole`, else `whole`: somebody changed the element.
    fileprivate mutating func append(date: Double, within whole: Double) throws(PropertyListError) {
        try append(date: date.rounded(.down) == whole ? date : whole)
    }
}
