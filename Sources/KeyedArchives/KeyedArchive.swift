internal import CKVCodable
public import PropertyLists

/// Options for turning a keyed archive into a plain tree.
///
/// ```swift
/// // An archive as a tree in which each object keeps its class's name under `class`.
/// func tree(of archive: PropertyList) throws -> PropertyList {
///     let options = KeyedArchiveOptions(classNameKey: "class")
///     return try archive.unarchived(options: options)
/// }
/// ```
public struct KeyedArchiveOptions: Sendable, Hashable {
    /// The key under which a flattened object keeps the name of its class; nil to drop the name.
    public var classNameKey: String?

    /// A tree without the names of classes, unless there is a key for them.
    public init(classNameKey: String? = nil) {
        self.classNameKey = classNameKey
    }
}

extension PropertyList {
    /// Whether the value has the form of an NSKeyedArchiver archive, or is data with such a file inside. Only
    /// ``unarchived(options:limits:)`` finds out whether the archive is sound; its error names another archiver.
    ///
    /// Takes constant time, but for data that begins like a property list, which is parsed.
    public var isKeyedArchive: Bool {
        if kind == .dictionary { return hasArchiveHeader }
        return (try? propertyListInside(limits: PropertyListLimits()))?.hasArchiveHeader ?? false
    }

    private var hasArchiveHeader: Bool {
        guard kind == .dictionary else { return false }
        // The keys are in the order of their bytes: a first one above "$", such as a name, is above "$archiver".
        let keys = document.keys(ofDictionaryAt: index)
        let first = keys.isEmpty ? nil : document.buffer(of: document.nodes[keys.lowerBound]).first
        if let first, first > UInt8(ascii: "$") { return false }
        guard let archiver = self["$archiver"], archiver.kind == .string else { return false }
        return self["$objects"] != nil || self["$top"] != nil
    }

    /// The plain tree of a keyed archive, without its classes.
    ///
    /// References are resolved, and objects of the classes below become the values named there. An object of any other
    /// class becomes a dictionary of its keys, without those whose value is nil. The result is the tree of the top
    /// object `root` where that is the only one, or else a dictionary of all top objects.
    ///
    /// - NSArray, NSSet, NSOrderedSet and their mutable kinds: an array. NSCountedSet: an array in which each element
    ///   stands as often as it was counted.
    /// - NSDictionary: a dictionary; a key that is an integer becomes its digits, as Codable has it, and a URL its
    ///   text.
    /// - A class that inherits from an array or a dictionary, or names one in its hints, and adds no keys: the same.
    /// - NSDate: a date. NSData: data. NSString: a string, as are NSURL (absolute) and NSUUID. NSNull: null.
    ///
    /// The archive may itself be data with the file inside, and its content may be data with a property list inside, an
    /// archive or not: both are unwrapped, ``PropertyListLimits/wrappings`` times at most.
    ///
    /// - Throws: ``PropertyListError`` with the path in the tree that would be the result:
    ///   ``PropertyListError/Code/malformed`` for a value that is no archive and for a damaged one,
    ///   ``PropertyListError/Code/invalidValue`` for one that cannot become a tree (an object inside itself, keys that
    ///   are neither strings, URLs nor integers),
    ///   ``PropertyListError/Code/limitExceeded`` beyond the limits.
    public func unarchived(
        options: KeyedArchiveOptions = KeyedArchiveOptions(), limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> PropertyList {
        var list = self
        var isArchive = false
        // Each turn takes a wrapping off.
        for _ in 0...PropertyListLimits.wrappings {
            if let inside = try list.propertyListInside(limits: limits), isArchive || inside.hasArchiveHeader {
                list = inside
            } else if list.kind == .dictionary, !isArchive || list.hasArchiveHeader {
                list = try KeyedArchive(list).flattened(options: options, limits: limits)
                isArchive = true
            } else if isArchive {
                return list
            } else {
                throw PropertyListError(.malformed, .expected("a keyed archive", found: "\(list.kind)"))
            }
        }
        throw PropertyListError(.limitExceeded, "More than \(PropertyListLimits.wrappings) archives inside one another")
    }

    /// The property list in a data value; nil where there is none, or the value is none.
    private func propertyListInside(limits: PropertyListLimits) throws(PropertyListError) -> PropertyList? {
        guard kind == .data else { return nil }
        let bytes = UnsafeRawBufferPointer(document.buffer(of: node))
        guard PropertyListFormat.isBinary(bytes) || bytes.starts(with: "<?xml".utf8) else { return nil }
        return try PropertyList(parsing: bytes, limits: limits)
    }
}

/// The parts of a keyed archive, whose header has been checked.
struct KeyedArchive {
    let top: PropertyList
    private let objects: PropertyList
    /// The node of each object.
    private let positions: [Int]

    init(_ list: PropertyList) throws(PropertyListError) {
        guard list["$archiver"] != nil else {
            throw PropertyListError(.malformed, .expected("a keyed archive", found: "\(list.kind)"))
        }
        guard list["$archiver"]?.string == "NSKeyedArchiver" else {
            throw Self.damaged("NSKeyedArchiver as $archiver", list["$archiver"])
        }
        guard list["$version"]?.integer == 100_000 else { throw Self.damaged("100000 as $version", list["$version"]) }
        guard let objects = list["$objects"], objects.kind == .array else {
            throw Self.damaged("an array as $objects", list["$objects"])
        }
        guard let top = list["$top"], top.kind == .dictionary else {
            throw Self.damaged("a dictionary as $top", list["$top"])
        }
        self.objects = objects
        self.top = top
        positions = objects.elements.map(\.index)
    }

    /// The object that a UID refers to; nil where there is none.
    func object(_ uid: UInt32) -> PropertyList? {
        guard uid < positions.count else { return nil }
        return PropertyList(document: objects.document, index: positions[Int(uid)])
    }

    var count: Int { positions.count }

    /// The number of values and keys in the archive, by which the budget is set.
    var nodeCount: Int { objects.node.span }

    private static func damaged(_ wanted: String, _ found: PropertyList?) -> PropertyListError {
        let shown = found?.string.map { "\"\($0.prefix(40))\"" } ?? found?.integer.map { "\($0)" }
        return PropertyListError(
            .malformed, .expected("\(wanted)", found: "\(shown ?? found.map { "\($0.kind)" } ?? "nothing")"))
    }

    /// The tree, which is counted before it is made.
    fileprivate func flattened(
        options: KeyedArchiveOptions, limits: PropertyListLimits
    ) throws(PropertyListError) -> PropertyList {
        var counting = ArchiveFlattener(self, options, limits, output: ArchiveCounter(self, limits))
        try counting.flatten()
        var building = ArchiveFlattener(self, options, limits, output: ArchiveBuilder(limits: limits))
        try building.flatten()
        return try building.output.builder.finish()
    }
}
