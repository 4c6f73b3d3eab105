internal import FoundationEssentials

/// The parts of objects, and the classes that take more than one part.
extension ArchiveFlattener where Output: ~Copyable {
    /// The value of a key, with a reference followed; nil where it is absent or nil.
    func part(_ object: PropertyList, _ key: String) throws(PropertyListError) -> PropertyList? {
        guard let value = object[key], value.uid != 0 else { return nil }
        guard let uid = value.uid else { return value }
        guard let target = archive.object(uid), target.kind != .uid else {
            throw error(.malformed, .expected("one of \(archive.count) objects as \(key)", found: "UID \(uid)"))
        }
        return target
    }

    /// The array of a key.
    func contents(of object: PropertyList, _ key: String) throws(PropertyListError) -> PropertyList {
        let found = try part(object, key)
        guard let found, found.kind == .array else { throw unexpected("an array", key, found) }
        return found
    }

    /// The scalar of a key, which may itself be wrapped in an object of the same class, such as a mutable string.
    func scalar(
        of object: PropertyList, _ key: String, _ kind: PropertyListKind
    ) throws(PropertyListError) -> PropertyList {
        var found = try part(object, key)
        if let inner = found, inner.kind == .dictionary {
            found = try part(inner, kind == .string ? "NS.string" : "NS.data")
        }
        guard let found, found.kind == kind else { throw unexpected("\(kind)", key, found) }
        return found
    }

    func unexpected(_ wanted: String, _ key: String, _ found: PropertyList?) -> PropertyListError {
        error(.malformed, .expected("\(wanted) as \(key)", found: "\(found.map { "\($0.kind)" } ?? "nil")"))
    }

    func pairs(of object: PropertyList) throws(PropertyListError) -> ArchiveFrame.Content {
        let keys = try contents(of: object, "NS.keys")
        let values = try contents(of: object, "NS.objects")
        guard keys.count == values.count else {
            throw error(
                .malformed, .expected("as many NS.objects as NS.keys", found: "\(values.count) and \(keys.count)"))
        }
        return .pairs(keys: keys.elements, values: values.elements)
    }

    /// `NS.object.0`, `NS.object.1` and so on; or `NS.objects`, as newer systems write.
    func orderedSet(_ object: PropertyList) throws(PropertyListError) -> ArchiveFrame.Content {
        guard object["NS.objects"] != nil else { return .numbered(object) }
        return .elements(try contents(of: object, "NS.objects").elements)
    }

    /// However large a count is, the budget ends the walk.
    func countedSet(_ object: PropertyList) throws(PropertyListError) -> ArchiveFrame.Content {
        let count = try part(object, "NS.count")
        guard let number = count?.integer, number >= 0 else { throw unexpected("a count", "NS.count", count) }
        return .counted(object, next: 0, count: number, left: 0)
    }

    mutating func date(_ object: PropertyList) throws(PropertyListError) {
        let time = try part(object, "NS.time")
        guard let seconds = time?.number, seconds.isFinite else { throw unexpected("seconds", "NS.time", time) }
        try output.append(date: seconds)
    }

    mutating func uuid(_ object: PropertyList) throws(PropertyListError) {
        let bytes = try scalar(of: object, "NS.uuidbytes", .data).data ?? []
        guard bytes.count == 16 else {
            throw error(.malformed, .expected("16 bytes as NS.uuidbytes", found: "\(bytes.count)"))
        }
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        try output.append(string: text)
    }

    /// The absolute text of a URL: `NS.relative`, relative to `NS.base`.
    func url(_ object: PropertyList, depth: Int = 0) throws(PropertyListError) -> String {
        let relative = try scalar(of: object, "NS.relative", .string).string ?? ""
        guard let base = try part(object, "NS.base") else { return relative }
        guard base.kind == .dictionary || base.kind == .string else { throw unexpected("a URL", "NS.base", base) }
        guard depth < 16 else {
            throw error(.malformed, .expected("a URL as NS.base", found: "a chain of more than 16"))
        }
        let baseText: String
        if let text = base.string { baseText = text } else { baseText = try url(base, depth: depth + 1) }
        return URL(string: relative, relativeTo: URL(string: baseText))?.absoluteString ?? relative
    }
}
