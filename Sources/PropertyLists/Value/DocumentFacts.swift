package import CKVCodable

/// Facts about all the values of a document, noted so that no reader has to walk the document for them.
@usableFromInline package struct DocumentFacts: Sendable {
    /// A bit for each kind that occurs, by its raw value.
    @usableFromInline package internal(set) var kinds: UInt32 = 0
    /// The depth of the most deeply nested containers.
    package internal(set) var depth = 0
    /// Whether all bytes of strings, keys and data are within 0x20...0x7F: ASCII without control characters but DEL.
    package internal(set) var isPlainText = false
    /// Whether some dictionary has a single key, of six bytes like `CF$UID`.
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

    mutating func note(_ kinds: UInt32) { self.kinds |= kinds }

    @inlinable package func contains(_ kind: PropertyListKind) -> Bool { kinds & (1 << kind.rawValue) != 0 }
}
