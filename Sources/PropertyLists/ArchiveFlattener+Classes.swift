internal import FoundationEssentials

/// The classes of the table that take more than a look at one key.
extension ArchiveFlattener where Output: ~Copyable {
    /// `NS.object.0`, `NS.object.1` and so on; or `NS.objects`, as newer systems write.
    mutating func orderedSet(_ object: PropertyList) throws(PropertyListError) {
        if object["NS.objects"] != nil { return try value(try contents(of: object, "NS.objects")) }
        try output.beginArray()
        var index = 0
        while let element = object["NS.object.\(index)"] {
            try self.element(element, at: index)
            index += 1
        }
        try output.end()
    }

    /// `NS.count` different elements, `NS.object0` and so on, each of them `NS.count0` times.
    mutating func countedSet(_ object: PropertyList) throws(PropertyListError) {
        guard let count = try part(object, "NS.count")?.integer, count >= 0 else {
            throw unexpected("a count", "NS.count", object["NS.count"])
        }
        try output.beginArray()
        var index = 0
        for number in 0..<count {
            guard let element = object["NS.object\(number)"] else {
                throw unexpected("an object", "NS.object\(number)", nil)
            }
            let times = try part(object, "NS.count\(number)")
            guard let times = times?.integer, times >= 0 else {
                throw unexpected("a count", "NS.count\(number)", times)
            }
            // However large the number is, the budget ends the loop.
            for _ in 0..<times {
                try self.element(element, at: index)
                index += 1
            }
        }
        try output.end()
    }

    mutating func date(_ object: PropertyList) throws(PropertyListError) {
        let time = try part(object, "NS.time")
        guard let seconds = time?.number, seconds.isFinite else { throw unexpected("seconds", "NS.time", time) }
        try output.append(date: seconds)
    }

    mutating func uuid(_ object: PropertyList) throws(PropertyListError) {
        let bytes = try scalar(of: object, "NS.uuidbytes", .data).data ?? []
        guard bytes.count == 16 else {
            throw error(.malformed, "Expected 16 bytes as NS.uuidbytes, found \(bytes.count)")
        }
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        try output.append(string: text)
    }

    /// The absolute text of a URL: what `NS.relative` says, from where `NS.base` is.
    func url(_ object: PropertyList, depth: Int = 0) throws(PropertyListError) -> String {
        let relative = try scalar(of: object, "NS.relative", .string).string ?? ""
        guard let base = try part(object, "NS.base") else { return relative }
        guard base.kind == .dictionary || base.kind == .string else { throw unexpected("a URL", "NS.base", base) }
        guard depth < 16 else { throw error(.malformed, "Expected a URL as NS.base, found a chain of more than 16") }
        let baseText: String
        if let text = base.string { baseText = text } else { baseText = try url(base, depth: depth + 1) }
        return URL(string: relative, relativeTo: URL(string: baseText))?.absoluteString ?? relative
    }
}
