/// What a document may grow to. Every limit of this room stands here.
///
/// Depth is counted when parsing, building, copying from foreign memory and setting at a path; all that walks a
/// finished document can therefore recurse, since no document is deeper than ``maximumDepth``.
public struct PropertyListLimits: Sendable, Hashable {
    /// How many containers may stand inside one another; a scalar root has depth 0, `[[]]` depth 2.
    ///
    /// At least 1 and at most ``maximumDepth``; other values are brought to the nearest of the two.
    public var depth: Int {
        get { storedDepth }
        set { storedDepth = min(max(newValue, 1), Self.maximumDepth) }
    }

    private var storedDepth: Int

    public init(depth: Int = 512) {
        storedDepth = min(max(depth, 1), Self.maximumDepth)
    }

    /// The deepest document that may be asked for: its recursive walks stay within 1 MB of stack.
    public static let maximumDepth = 2048

    /// Nodes in a document, and the distance of a key to its value: 31 bits.
    @inlinable package static var nodes: Int { 0x7FFF_FFFF }

    /// Bytes of one string, key or data, and elements of one container: 32 bits.
    package static var length: Int { 0xFFFF_FFFF }
}
