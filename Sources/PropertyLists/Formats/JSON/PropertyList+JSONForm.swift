internal import CKVCodable

/// Values that JSON has no word for, as objects of one key that names their kind.
///
/// | value | as JSON |
/// |---|---|
/// | a date of a whole second, years 0 to 9999 | `{"$date": "2026-11-21T08:00:00Z"}` |
/// | any other date | `{"$date": 785404800.25}`, the seconds since 2001 |
/// | data | `{"$data": "AAEC"}`, base64 |
/// | a UID | `{"$uid": 7}` |
/// | a number that is not finite | `{"$real": "inf"}`, `"-inf"` or `"nan"` |
///
/// A dictionary whose only key begins with `$` has one `$` more there.
extension PropertyList {
    /// The value in a form that ``PropertyListFormat/json`` can hold; ``valueOfJSONForm()`` gives the value again.
    ///
    /// ```swift
    /// let list: PropertyList = ["since": PropertyList(Date(timeIntervalSinceReferenceDate: 0))]
    /// let text = try list.jsonForm().serialized(as: .json)  // {"since":{"$date":"2001-01-01T00:00:00Z"}}
    /// print(try PropertyList(parsing: text, as: .json).valueOfJSONForm() == list)  // true
    /// ```
    ///
    /// - Throws: ``PropertyListError/Code/limitExceeded`` where the result would be too deep or too large.
    public func jsonForm() throws(PropertyListError) -> PropertyList {
        var builder = PropertyListBuilder()
        var walk = TreeWalk(of: self)
        var escapesKey = false
        while let event = walk.next() {
            if case .end = event {
                try builder.end()
                continue
            }
            if let key = walk.key { try builder.key((escapesKey ? "$" : "") + document.text(of: key)) }
            escapesKey = false
            let value = PropertyList(document: document, index: walk.position)
            switch event {
            case .value: try builder.append(jsonForm: value)
            case .begin where value.kind == .dictionary:
                try builder.beginDictionary()
                escapesKey = value.isMarked
            case .begin, .end: try builder.beginArray()
            }
        }
        return try builder.finish()
    }

    /// The value that a text in JSON stands for, where dates, data, UIDs and numbers that are not finite are objects.
    ///
    /// - Throws: ``PropertyListError/Code/invalidValue`` with the path of an object that should be such a value and is
    ///   none: a date that is none, bad base64.
    public func valueOfJSONForm() throws(PropertyListError) -> PropertyList {
        guard hasMarks else { return self }
        var builder = PropertyListBuilder()
        var walk = TreeWalk(of: self)
        // An object of one marked key is begun only once its value is seen to be no value of ours.
        var isMarked = false
        var skipsEnd = false
        while let event = walk.next() {
            if case .end = event {
                if !skipsEnd { try builder.end() }
                skipsEnd = false
                continue
            }
            let value = PropertyList(document: document, index: walk.position)
            if let key = walk.key {
                let name = document.text(of: key)
                if isMarked {
                    if case .value = event, try builder.append(value, named: name) {
                        (isMarked, skipsEnd) = (false, true)
                        continue
                    }
                    try builder.beginDictionary()
                }
                try builder.key(isMarked && name.hasPrefix("$$") ? String(name.dropFirst()) : name)
            }
            isMarked = false
            switch event {
            case .value: try builder.append(value)
            case .begin where value.kind == .dictionary:
                isMarked = value.isMarked
                if !isMarked { try builder.beginDictionary() }
            case .begin, .end: try builder.beginArray()
            }
        }
        return try builder.finish()
    }

    /// Whether a dictionary in it may stand for a value that JSON has no word for.
    private var hasMarks: Bool {
        var walk = TreeWalk(of: self)
        while let event = walk.next() {
            guard case .begin(let node) = event, node.kind == .dictionary, node.count == 1 else { continue }
            if PropertyList(document: document, index: walk.position).isMarked { return true }
        }
        return false
    }

    /// Whether the dictionary has one key, which begins with `$`.
    private var isMarked: Bool { count == 1 && keys.first?.hasPrefix("$") ?? false }
}

extension Document {
    fileprivate func text(of node: kv_node) -> String { String(decoding: buffer(of: node), as: UTF8.self) }
}

extension PropertyListBuilder {
    /// A scalar or an empty container as JSON has it.
    fileprivate mutating func append(jsonForm value: PropertyList) throws(PropertyListError) {
        switch value.kind {
        case .date: try append("$date") { builder throws(PropertyListError) in try builder.append(jsonDate: value) }
        case .data: try append("$data") { builder throws(PropertyListError) in try builder.append(base64: value) }
        case .uid:
            try append("$uid") { builder throws(PropertyListError) in
                try builder.append(integer: Int64(value.uid ?? 0))
            }
        case .real:
            guard let number = value.real, !number.isFinite else { return try append(value) }
            try append("$real") { builder throws(PropertyListError) in try builder.append(string: "\(number)") }
        default: try append(value)
        }
    }

    private mutating func append(
        _ key: String, _ value: (inout PropertyListBuilder) throws(PropertyListError) -> Void
    ) throws(PropertyListError) {
        try beginDictionary()
        try self.key(key)
        try value(&self)
        try end()
    }

    private mutating func append(jsonDate value: PropertyList) throws(PropertyListError) {
        let seconds = value.date ?? 0
        guard let date = CalendarDate(secondsSince2001: seconds), date.secondsSince2001 == seconds else {
            return try append(real: seconds)
        }
        var text = GrowableBuffer<UInt8>()
        date.write(to: &text)
        try append(string: String(decoding: text.contents, as: UTF8.self))
    }

    private mutating func append(base64 value: PropertyList) throws(PropertyListError) {
        var text = GrowableBuffer<UInt8>()
        value.withBytes { Base64.encode($0.bindMemory(to: UInt8.self), to: &text) }
        try append(string: String(decoding: text.contents, as: UTF8.self))
    }

    /// Appends the value that an object of one key stands for; false where the key names no such value.
    fileprivate mutating func append(_ value: PropertyList, named name: String) throws(PropertyListError) -> Bool {
        switch name {
        case "$date": try append(dateOf: value)
        case "$data": try append(dataOf: value)
        case "$uid":
            guard let number = value.integer.flatMap({ UInt32(exactly: $0) }) else { throw wrong("32 bits", value) }
            try append(uid: number)
        case "$real":
            let numbers = ["inf": Double.infinity, "-inf": -.infinity, "nan": .nan]
            guard let number = value.string.flatMap({ numbers[$0] }) else {
                throw wrong("\"inf\", \"-inf\" or \"nan\"", value)
            }
            try append(real: number)
        default: return false
        }
        return true
    }

    private mutating func append(dateOf value: PropertyList) throws(PropertyListError) {
        let text = value.withBytes { CalendarDate($0.bindMemory(to: UInt8.self)) } ?? nil
        guard let seconds = text?.secondsSince2001 ?? value.number else {
            throw wrong("a date such as \"2026-11-21T08:00:00Z\"", value)
        }
        try append(date: seconds)
    }

    private mutating func append(dataOf value: PropertyList) throws(PropertyListError) {
        guard var bytes = value.string.map({ Array($0.utf8) }),
            let count = bytes.withUnsafeMutableBufferPointer({ Base64.decode(inPlace: $0) })
        else { throw wrong("data in base64", value) }
        try append(data: Array(bytes[..<count]))
    }

    private func wrong(_ expected: String, _ value: PropertyList) -> PropertyListError {
        error(.invalidValue, .expected(expected, found: "\(value)"))
    }
}
