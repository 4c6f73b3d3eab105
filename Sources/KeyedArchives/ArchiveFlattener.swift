internal import CKVCodable
internal import FoundationEssentials
internal import PropertyLists

/// Walks an archive from its top objects and writes the tree that they stand for, without recursion.
///
/// An object inside itself is found by the marks of the objects that are open.
struct ArchiveFlattener<Output: ArchiveOutput & ~Copyable>: ~Copyable {
    /// A class object, inspected once.
    private struct KnownClass {
        var name: String
        var kind: ArchiveClass?
        /// Whether the kind is that of a class above this one.
        var isSubclass = false

        func fits(_ object: PropertyList) -> ArchiveClass? {
            guard let kind, kind.fits(object), !isSubclass || kind.hasNothingElse(object) else { return nil }
            return kind
        }
    }

    private let archive: KeyedArchive
    private let options: KeyedArchiveOptions
    private let limits: PropertyListLimits
    var output: Output
    private var isOpen: [Bool]
    private var classes: [UInt32: KnownClass] = [:]
    /// The containers of the tree that are open, outermost first.
    private var frames: [ArchiveFrame] = []

    init(
        _ archive: KeyedArchive, _ options: KeyedArchiveOptions, _ limits: PropertyListLimits,
        output: consuming Output
    ) {
        self.archive = archive
        self.options = options
        self.limits = limits
        self.output = output
        isOpen = Array(repeating: false, count: archive.count)
    }

    mutating func flatten() throws(PropertyListError) {
        do throws(PropertyListError) {
            if archive.top.count == 1, let root = archive.top["root"] {
                try start(root)
            } else {
                try begin(.entries(archive.top, next: 0, hidesClass: false), uid: 0)
            }
            while !frames.isEmpty { try step() }
        } catch {
            var error = error
            error.path = PropertyListPath(frames.compactMap(\.step))
            throw error
        }
    }

    /// Writes the next value of the innermost container, or closes it.
    private mutating func step() throws(PropertyListError) {
        if let value = try next() { return try start(value) }
        try output.end()
        let uid = frames.removeLast().uid
        guard uid != 0 else { return }
        output.didAppend(uid)
        isOpen[Int(uid)] = false
    }

    /// Writes a value, one that stands in an object or one that it refers to, or opens it.
    private mutating func start(_ value: PropertyList) throws(PropertyListError) {
        guard let uid = value.uid else { return try start(value, uid: 0) }
        if uid == 0 { return try output.appendNull() }
        guard let object = archive.object(uid) else {
            throw error(.malformed, .expected("one of \(archive.count) objects", found: "UID \(uid)"))
        }
        guard object.kind != .uid else {
            throw error(.malformed, .expected("an object", found: "a reference to a reference"))
        }
        guard !isOpen[Int(uid)] else {
            throw error(.invalidValue, .expected("a tree", found: "object \(uid) inside itself"))
        }
        if try output.appendAgain(uid) { return }
        try start(object, uid: uid)
    }

    private mutating func start(_ value: PropertyList, uid: UInt32) throws(PropertyListError) {
        switch value.kind {
        case .array: try begin(.elements(value.elements), uid: uid)
        case .dictionary: try start(object: value, uid: uid)
        default: try output.append(value)
        }
    }

    private mutating func start(object: PropertyList, uid: UInt32) throws(PropertyListError) {
        guard let reference = object["$class"] else {
            return try begin(.entries(object, next: 0, hidesClass: false), uid: uid)
        }
        let known = try knownClass(reference)
        guard let kind = known.fits(object) else {
            try begin(.entries(object, next: 0, hidesClass: true), uid: uid)
            return try appendName(of: known)
        }
        switch kind {
        case .array: try begin(.elements(try contents(of: object, "NS.objects").elements), uid: uid)
        case .dictionary: try begin(try pairs(of: object), uid: uid)
        case .orderedSet: try begin(try orderedSet(object), uid: uid)
        case .countedSet: try begin(try countedSet(object), uid: uid)
        case .null: try output.appendNull()
        case .date: try date(object)
        case .data: try output.append(try scalar(of: object, "NS.data", .data))
        case .string: try output.append(try scalar(of: object, "NS.string", .string))
        case .uuid: try uuid(object)
        case .url: try output.append(string: try url(object))
        }
    }

    /// Opens a container; `uid` is that of the object it comes from, or 0.
    private mutating func begin(_ content: ArchiveFrame.Content, uid: UInt32) throws(PropertyListError) {
        guard frames.count < limits.depth else { throw error(.limitExceeded, "Deeper than \(limits.depth) levels") }
        if uid != 0 {
            isOpen[Int(uid)] = true
            output.willAppend(uid)
        }
        if content.isArray { try output.beginArray() } else { try output.beginDictionary() }
        frames.append(ArchiveFrame(content: content, uid: uid))
    }

    private mutating func appendName(of known: KnownClass) throws(PropertyListError) {
        guard let key = options.classNameKey else { return }
        try key.withBytes { bytes throws(PropertyListError) in try output.key(bytes) }
        try output.append(string: known.name)
    }

    private mutating func knownClass(_ reference: PropertyList) throws(PropertyListError) -> KnownClass {
        guard let uid = reference.uid else {
            throw error(.malformed, .expected("a UID as $class", found: "\(reference.kind)"))
        }
        if let known = classes[uid] { return known }
        guard let object = archive.object(uid), let name = object["$classname"]?.string else {
            throw error(.malformed, .expected("a class with its name as object \(uid)", found: "none"))
        }
        var known = KnownClass(name: name, kind: ArchiveClass(name: name))
        if known.kind == nil {
            known = KnownClass(name: name, kind: ArchiveClass(above: object), isSubclass: true)
        }
        classes[uid] = known
        return known
    }

    private func error(_ code: PropertyListError.Code, _ words: ErrorWords) -> PropertyListError {
        PropertyListError(code, words)
    }
}

/// The parts of objects, and the classes that take more than one part.
extension ArchiveFlattener where Output: ~Copyable {
    /// The value of a key, with a reference followed; nil where it is absent or nil.
    private func part(_ object: PropertyList, _ key: String) throws(PropertyListError) -> PropertyList? {
        guard let value = object[key], value.uid != 0 else { return nil }
        guard let uid = value.uid else { return value }
        guard let target = archive.object(uid), target.kind != .uid else {
            throw error(.malformed, .expected("one of \(archive.count) objects as \(key)", found: "UID \(uid)"))
        }
        return target
    }

    /// The array of a key.
    private func contents(of object: PropertyList, _ key: String) throws(PropertyListError) -> PropertyList {
        let found = try part(object, key)
        guard let found, found.kind == .array else { throw unexpected("an array", key, found) }
        return found
    }

    /// The scalar of a key, which may itself be wrapped in an object of the same class, such as a mutable string.
    private func scalar(
        of object: PropertyList, _ key: String, _ kind: PropertyListKind
    ) throws(PropertyListError) -> PropertyList {
        var found = try part(object, key)
        if let inner = found, inner.kind == .dictionary {
            found = try part(inner, kind == .string ? "NS.string" : "NS.data")
        }
        guard let found, found.kind == kind else { throw unexpected("\(kind)", key, found) }
        return found
    }

    private func unexpected(_ wanted: String, _ key: String, _ found: PropertyList?) -> PropertyListError {
        error(.malformed, .expected("\(wanted) as \(key)", found: "\(found.map { "\($0.kind)" } ?? "nil")"))
    }

    private func pairs(of object: PropertyList) throws(PropertyListError) -> ArchiveFrame.Content {
        let keys = try contents(of: object, "NS.keys")
        let values = try contents(of: object, "NS.objects")
        guard keys.count == values.count else {
            throw error(
                .malformed, .expected("as many NS.objects as NS.keys", found: "\(values.count) and \(keys.count)"))
        }
        return .pairs(keys: keys.elements, values: values.elements)
    }

    /// `NS.object.0`, `NS.object.1` and so on; or `NS.objects`, as newer systems write.
    private func orderedSet(_ object: PropertyList) throws(PropertyListError) -> ArchiveFrame.Content {
        guard object["NS.objects"] != nil else { return .numbered(object) }
        return .elements(try contents(of: object, "NS.objects").elements)
    }

    /// However large a count is, the budget ends the walk.
    private func countedSet(_ object: PropertyList) throws(PropertyListError) -> ArchiveFrame.Content {
        let count = try part(object, "NS.count")
        guard let number = count?.integer, number >= 0 else { throw unexpected("a count", "NS.count", count) }
        return .counted(object, next: 0, count: number, left: 0)
    }

    private mutating func date(_ object: PropertyList) throws(PropertyListError) {
        let time = try part(object, "NS.time")
        guard let seconds = time?.number, seconds.isFinite else { throw unexpected("seconds", "NS.time", time) }
        try output.append(date: seconds)
    }

    private mutating func uuid(_ object: PropertyList) throws(PropertyListError) {
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
    private func url(_ object: PropertyList, depth: Int = 0) throws(PropertyListError) -> String {
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

// MARK: - The open containers

/// A container of the tree that is being written, and the source of its values.
private struct ArchiveFrame {
    enum Content {
        case elements(PropertyList.Elements)
        /// The entries of an object from key `next` on; its class may be left out.
        case entries(PropertyList, next: Int, hidesClass: Bool)
        /// Keys and values in two arrays of the same length.
        case pairs(keys: PropertyList.Elements, values: PropertyList.Elements)
        /// `NS.object.0`, `NS.object.1` and so on.
        case numbered(PropertyList)
        /// `NS.object0`, as often as `NS.count0` says, and so on: `count` different ones, of which `next` is the next.
        case counted(PropertyList, next: Int64, count: Int64, left: Int64)

        var isArray: Bool {
            switch self {
            case .elements, .numbered, .counted: true
            case .entries, .pairs: false
            }
        }
    }

    var content: Content
    /// The UID of the object that becomes this container; 0 for none.
    let uid: UInt32
    /// Elements written so far.
    var index = 0
    /// The key of the value that is being written; nil before the first, and in arrays.
    var key: PropertyListPath.Step?

    init(content: Content, uid: UInt32) {
        self.content = content
        self.uid = uid
    }

    /// The step to the value that is being written.
    var step: PropertyListPath.Step? { content.isArray && index > 0 ? .index(index - 1) : key }
}

extension ArchiveFlattener where Output: ~Copyable {
    /// The next value of the innermost container, after its key has been written; nil at the end.
    private mutating func next() throws(PropertyListError) -> PropertyList? {
        let top = frames.count - 1
        frames[top].key = nil
        switch frames[top].content {
        case .elements(var elements):
            guard let value = elements.next() else { return nil }
            frames[top].content = .elements(elements)
            frames[top].index += 1
            return value
        case .entries(let object, let next, let hidesClass): return try nextEntry(of: object, from: next, hidesClass)
        case .pairs(var keys, var values):
            guard let key = keys.next(), let value = values.next() else { return nil }
            frames[top].content = .pairs(keys: keys, values: values)
            try self.key(key)
            return value
        case .numbered(let object):
            guard let value = object["NS.object.\(frames[top].index)"] else { return nil }
            frames[top].index += 1
            return value
        case .counted(let object, let next, let count, let left):
            return try nextCounted(of: object, next, count, left)
        }
    }

    /// The next entry whose value is not nil.
    private mutating func nextEntry(
        of object: PropertyList, from next: Int, _ hidesClass: Bool
    ) throws(PropertyListError) -> PropertyList? {
        let document = object.document
        let slots = document.keys(ofDictionaryAt: object.index)
        for slot in slots.dropFirst(next) {
            let key = document.nodes[slot]
            let value = PropertyList(document: document, index: object.index + key.distance)
            let name = document.buffer(of: key)
            if value.uid == 0 || hidesClass && name.elementsEqual("$class".utf8) { continue }
            let top = frames.count - 1
            frames[top].content = .entries(object, next: slot - slots.lowerBound + 1, hidesClass: hidesClass)
            frames[top].key = .key(String(decoding: name, as: UTF8.self))
            try output.key(UnsafeRawBufferPointer(name))
            return value
        }
        return nil
    }

    private mutating func nextCounted(
        of object: PropertyList, _ start: Int64, _ count: Int64, _ left: Int64
    ) throws(PropertyListError) -> PropertyList? {
        var (next, left) = (start, left)
        while left == 0 {
            guard next < count else { return nil }
            let times = try part(object, "NS.count\(next)")
            guard let number = times?.integer, number >= 0 else {
                throw unexpected("a count", "NS.count\(next)", times)
            }
            let budget = limits.nodeBudget(for: archive.nodeCount)
            guard number <= budget else {
                throw error(.limitExceeded, "Shared objects grow to more than \(budget) nodes")
            }
            (next, left) = (next + 1, number)
        }
        let name = "NS.object\(next - 1)"
        guard let value = object[name] else { throw unexpected("an object", name, nil) }
        let top = frames.count - 1
        frames[top].content = .counted(object, next: next, count: count, left: left - 1)
        frames[top].index += 1
        return value
    }

    /// Writes a key: a string, a URL's text, or an integer's digits.
    private mutating func key(_ key: PropertyList) throws(PropertyListError) {
        var found: PropertyList? = key
        if let uid = key.uid { found = archive.object(uid) }
        let top = frames.count - 1
        if let inner = found, inner.kind == .dictionary {
            if inner["NS.relative"] != nil { return try self.key(try url(inner), of: top) }
            found = try part(inner, "NS.string")
        }
        if let text = found, text.kind == .string {
            frames[top].key = .key(text.string ?? "")
            return try output.key(UnsafeRawBufferPointer(text.document.buffer(of: text.node)))
        }
        guard let number = found?.integer else {
            throw error(.invalidValue, .expected("String as a key", found: "\(found.map { "\($0.kind)" } ?? "nil")"))
        }
        try self.key(String(number), of: top)
    }

    private mutating func key(_ text: String, of frame: Int) throws(PropertyListError) {
        frames[frame].key = .key(text)
        try text.withBytes { bytes throws(PropertyListError) in try output.key(bytes) }
    }
}
