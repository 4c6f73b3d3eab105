internal import CKVCodable

/// Limits on a document's size and depth. Every limit of this room is defined here.
///
/// Depth is counted when parsing, building, copying from foreign memory and setting at a path; a walk of a finished
/// document can therefore recurse, since no document is deeper than ``maximumDepth``.
///
/// ```swift
/// do {
///     let limits = PropertyListLimits(depth: 2)
///     _ = try PropertyList(parsing: Array("[[[1]]]".utf8), limits: limits)
/// } catch {
///     print(error.code == .limitExceeded)  // true
/// }
/// ```
public struct PropertyListLimits: Sendable, Hashable {
    /// How deeply containers may be nested; a scalar root has depth 0, `[[]]` depth 2.
    ///
    /// At least 1 and at most ``maximumDepth``; other values become the nearer of the two.
    public var depth: Int {
        get { storedDepth }
        set { storedDepth = min(max(newValue, 1), Self.maximumDepth) }
    }

    private var storedDepth: Int

    /// How many nodes (values and keys) a file, or an archive when its objects are flattened, may have; nil for
    /// 1,000,000 plus one for each byte of the file, or for each node of the archive.
    ///
    /// A file in which nothing is shared never has more nodes than bytes. A reader stops at the first node too many. A
    /// key that comes again in a dictionary counts, too.
    public var expandedNodes: Int?

    /// How many bytes the strings, keys and data of a binary file or an archive may grow to where they are shared; nil
    /// for 64 MB plus 16 for each byte of the file.
    public var expandedBytes: Int?

    /// How many bytes a file may have that is read from its path: 1 GB. It is not read where it has more.
    public var fileBytes = 1 << 30

    /// Bytes that strings, keys and data may grow to besides 16 for each byte of the file, unless ``expandedBytes`` is
    /// set. Holds for readers and for writers, so that every written file can be read.
    package var sharedBytes = 64 << 20

    /// The depth that every call allows unless it is given another: 512. The coders and typed values allow the same.
    @usableFromInline package static let standardDepth = Int(KV_DEPTH)

    /// The limits that every call has unless it is given others: 512 levels, and budgets by the file's size.
    public init(depth: Int = PropertyListLimits.standardDepth, expandedNodes: Int? = nil, expandedBytes: Int? = nil) {
        storedDepth = min(max(depth, 1), Self.maximumDepth)
        self.expandedNodes = expandedNodes
        self.expandedBytes = expandedBytes
    }

    /// The node budget for input of `size` bytes or nodes.
    package func nodeBudget(for size: Int) -> Int {
        min(max(expandedNodes ?? 1_000_000 + size, 0), Self.nodes)
    }

    /// Checks the number of nodes, where the caller has set a limit.
    func checkCount(_ count: Int) throws(PropertyListError) {
        guard let expandedNodes, count > max(expandedNodes, 0) else { return }
        throw PropertyListError(.limitExceeded, "More than \(expandedNodes) values and keys")
    }

    /// The byte budget for input of `size` bytes.
    package func byteBudget(for size: Int) -> Int {
        max(expandedBytes ?? sharedBytes + 16 * min(size, Int.max / 32), 0)
    }

    /// The deepest document that may be asked for: its recursive walks stay within 1 MB of stack.
    public static let maximumDepth = 2048

    /// How many layers of archives and property lists in data are unwrapped.
    public static let wrappings = 8

    /// Nodes in a document, and the distance of a key to its value: 31 bits.
    @inlinable package static var nodes: Int { 0x7FFF_FFFF }

    /// Bytes of one string, key or data, and elements of one container: 32 bits.
    @inlinable package static var length: Int { 0xFFFF_FFFF }
}
