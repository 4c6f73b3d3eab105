internal import CKVCodable

/// Walks an archive from its top objects and writes the tree that they stand for.
///
/// Recursion is bounded by the depth limit; an object inside itself is found by the marks of the objects that are open.
struct ArchiveFlattener<Output: ArchiveOutput & ~Copyable>: ~Copyable {
    /// A class object, looked at once.
    struct KnownClass {
        var name: String
        var kind: ArchiveClass?
    }

    private enum Step {
        case key(PropertyList)
        case name(String)
        case index(Int)
    }

    let archive: KeyedArchive
    let options: KeyedArchiveOptions
    let limits: PropertyListLimits
    var output: Output
    private var isOpen: [Bool]
    private var classes: [UInt32: KnownClass] = [:]
    /// The way to the value that is being written.
    private var path: [Step] = []
    private var depth = 0

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
                try value(root)
            } else {
                try entries(of: archive.top, className: nil)
            }
        } catch {
            var error = error
            error.path = steps
            throw error
        }
    }

    private var steps: PropertyListPath {
        PropertyListPath(
            path.map { step in
                switch step {
                case .key(let key): .key(key.string ?? "")
                case .name(let name): .key(name)
                case .index(let index): .index(index)
                }
            })
    }
}

// MARK: - Values

extension ArchiveFlattener where Output: ~Copyable {
    /// Writes a value of an object: one that stands there, or the object that it refers to.
    mutating func value(_ value: PropertyList) throws(PropertyListError) {
        guard let uid = value.uid else { return try content(value) }
        if uid == 0 { return try output.appendNull() }
        guard let object = archive.object(uid) else {
            throw error(.malformed, "Expected one of \(archive.count) objects, found UID \(uid)")
        }
        guard object.kind != .uid else {
            throw error(.malformed, "Expected an object, found a reference to a reference")
        }
        guard !isOpen[Int(uid)] else {
            throw error(.invalidValue, "Expected a tree, found object \(uid) inside itself")
        }
        if try output.appendAgain(uid) { return }
        isOpen[Int(uid)] = true
        output.willAppend(uid)
        try content(object)
        output.didAppend(uid)
        isOpen[Int(uid)] = false
    }

    private mutating func content(_ value: PropertyList) throws(PropertyListError) {
        guard value.kind.isContainer else { return try output.append(value) }
        // One more than the tree may have, since an object may turn out to be a scalar; the builder counts exactly.
        guard depth <= limits.depth else { throw error(.limitExceeded, "Deeper than \(limits.depth) levels") }
        depth += 1
        if value.kind == .array { try array(value) } else { try object(value) }
        depth -= 1
    }

    private mutating func array(_ array: PropertyList) throws(PropertyListError) {
        try output.beginArray()
        try elements(array)
        try output.end()
    }

    private mutating func elements(_ array: PropertyList) throws(PropertyListError) {
        path.append(.index(0))
        for (index, element) in array.elements.enumerated() {
            path[path.count - 1] = .index(index)
            try value(element)
        }
        path.removeLast()
    }

    private mutating func object(_ object: PropertyList) throws(PropertyListError) {
        guard let reference = object["$class"] else { return try entries(of: object, className: nil) }
        let known = try knownClass(reference)
        guard let kind = known.kind, kind.fits(object) else { return try entries(of: object, className: known.name) }
        switch kind {
        case .array: try array(try contents(of: object, "NS.objects"))
        case .dictionary: try dictionary(object)
        case .orderedSet: try orderedSet(object)
        case .countedSet: try countedSet(object)
        case .null: try output.appendNull()
        case .date: try date(object)
        case .data: try output.append(try scalar(of: object, "NS.data", .data))
        case .string: try output.append(try scalar(of: object, "NS.string", .string))
        case .uuid: try uuid(object)
        case .url: try output.append(string: try url(object))
        }
    }

    /// An object of another class: its keys, but for those whose value is nil.
    private mutating func entries(of object: PropertyList, className: String?) throws(PropertyListError) {
        try output.beginDictionary()
        if let key = options.classNameKey, let className {
            try key.withBytes { bytes throws(PropertyListError) in try output.key(bytes) }
            try output.append(string: className)
        }
        let document = object.document
        path.append(.index(0))
        for slot in document.keys(ofDictionaryAt: object.index) {
            let key = document.nodes[slot]
            let value = PropertyList(document: document, index: object.index + key.distance)
            let name = document.buffer(of: key)
            if value.uid == 0 || className != nil && name.elementsEqual("$class".utf8) { continue }
            path[path.count - 1] = .name(String(decoding: name, as: UTF8.self))
            try output.key(UnsafeRawBufferPointer(name))
            try self.value(value)
        }
        path.removeLast()
        try output.end()
    }

    private mutating func knownClass(_ reference: PropertyList) throws(PropertyListError) -> KnownClass {
        guard let uid = reference.uid else {
            throw error(.malformed, "Expected a UID as $class, found \(reference.kind)")
        }
        if let known = classes[uid] { return known }
        guard let name = archive.object(uid)?["$classname"]?.string else {
            throw error(.malformed, "Expected a class with its name as object \(uid), found none")
        }
        let known = KnownClass(name: name, kind: ArchiveClass(name: name))
        classes[uid] = known
        return known
    }
}

// MARK: - Parts of objects

extension ArchiveFlattener where Output: ~Copyable {
    /// The value of a key, with references followed; an object's own value, not yet flattened.
    func part(_ object: PropertyList, _ key: String) throws(PropertyListError) -> PropertyList? {
        guard var value = object[key] else { return nil }
        // A reference leads to an object, which is none itself but in a damaged archive.
        for _ in 0..<limits.depth {
            guard let uid = value.uid else { return value }
            if uid == 0 { return nil }
            guard let next = archive.object(uid) else {
                throw error(.malformed, "Expected one of \(archive.count) objects as \(key), found UID \(uid)")
            }
            value = next
        }
        throw error(.malformed, "Expected an object as \(key), found a reference to a reference")
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
        error(.malformed, "Expected \(wanted) as \(key), found \(found.map { "\($0.kind)" } ?? "nil")")
    }

    func error(_ code: PropertyListError.Code, _ message: String) -> PropertyListError {
        PropertyListError(code, message)
    }

    /// Writes an element of the array that is open.
    mutating func element(_ element: PropertyList, at index: Int) throws(PropertyListError) {
        path.append(.index(index))
        try value(element)
        path.removeLast()
    }

    /// Writes a dictionary of which `keys` and `values` are two arrays.
    mutating func dictionary(_ object: PropertyList) throws(PropertyListError) {
        let keys = try contents(of: object, "NS.keys")
        let values = try contents(of: object, "NS.objects")
        guard keys.count == values.count else {
            throw error(.malformed, "Expected as many NS.objects as NS.keys, found \(values.count) and \(keys.count)")
        }
        try output.beginDictionary()
        for (key, value) in zip(keys.elements, values.elements) {
            path.append(try self.key(key))
            try self.value(value)
            path.removeLast()
        }
        try output.end()
    }

    private mutating func key(_ key: PropertyList) throws(PropertyListError) -> Step {
        var found: PropertyList? = key
        if let uid = key.uid { found = archive.object(uid) }
        if let inner = found, inner.kind == .dictionary { found = try part(inner, "NS.string") }
        guard let found, found.kind == .string else {
            guard let number = found?.integer else {
                throw error(.invalidValue, "Expected String as a key, found \(found.map { "\($0.kind)" } ?? "nil")")
            }
            let digits = String(number)
            try digits.withBytes { bytes throws(PropertyListError) in try output.key(bytes) }
            return .name(digits)
        }
        try output.key(UnsafeRawBufferPointer(found.document.buffer(of: found.node)))
        return .key(found)
    }
}
