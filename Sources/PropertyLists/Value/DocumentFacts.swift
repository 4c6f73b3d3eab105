package import CKVCodable

/// What holds for all the values of a document, so that no reader has to walk it to find out.
@usableFromInline package struct DocumentFacts: Sendable {
    /// A bit for each kind that occurs, by its raw value.
    @usableFromInline package internal(set) var kinds: UInt32 = 0
    /// How many containers stand inside one another at most.
    package internal(set) var depth = 0
    /// Whether all bytes of strings, keys and data are within 0x20...0x7F: ASCII without control characters but DEL.
    package internal(set) var isPlainText = false
    /// Whether a dictionary has one key alone and that has six bytes, as `CF$UID`.
    package internal(set) var hasUIDLikeDictionary = false

    package init() {}

    /// The facts of a document just written, whose writer counted the containers.
    package init(
        of nodes: UnsafeBufferPointer<kv_node>, _ bytes: UnsafeBufferPointer<UInt8>, depth: Int,
        hasUIDLikeDictionary: Bool
    ) {
        // The head of a key is no kind.
        for node in nodes { kinds |= (1 &<< node.head) & ((node.head >> 31) &- 1) }
        self.depth = depth
        isPlainText = ByteSurvey(UnsafeRawBufferPointer(bytes)).isPlain
        self.hasUIDLikeDictionary = hasUIDLikeDictionary
    }

    @inline(__always) mutating func note(_ kinds: UInt32) { self.kinds |= kinds }

    @inlinable package func contains(_ kind: PropertyListKind) -> Bool { kinds & (1 << kind.rawValue) != 0 }
}
