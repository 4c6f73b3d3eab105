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

    let archive: KeyedArchive
    private let options: KeyedArchiveOptions
    let limits: PropertyListLimits
    var output: Output
    private var isOpen: [Bool]
    private var classes: [UInt32: KnownClass] = [:]
    /// The containers of the tree that are open, outermost first.
    var frames: [ArchiveFrame] = []

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

    func error(_ code: PropertyListError.Code, _ words: ErrorWords) -> PropertyListError {
        PropertyListError(code, words)
    }
}
