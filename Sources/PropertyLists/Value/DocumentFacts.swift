package import CKVCodable

/// What holds for all the values of a document, so that nobody has to walk it to find out.
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

    /// What holds for a document that somebody has just written, who counted the containers.
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

/// What a block of bytes is, found out in one pass.
package struct ByteSurvey {
    /// Whether all are below 0x80, and so UTF-8 wherever one cuts them.
    package var isASCII: Bool
    /// Whether, beyond that, none is below 0x20.
    package var isPlain: Bool

    @inline(__always)
    package init(_ bytes: UnsafeRawBufferPointer) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        func survey(_ value: UInt64) {
            high |= value
            // A byte below 0x20 wraps, which sets its high bit; what it borrows can only hide what stands above it.
            low |= value &- 0x2020_2020_2020_2020
        }
        if bytes.count >= 8 {
            var position = 0
            while position < bytes.count &- 8 {
                survey(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                position &+= 8
            }
            // The last eight, some of them for the second time.
            survey(bytes.loadUnaligned(fromByteOffset: bytes.count &- 8, as: UInt64.self))
        } else {
            for byte in bytes { survey(0x2020_2020_2020_2000 | UInt64(byte)) }
        }
        isASCII = high & 0x8080_8080_8080_8080 == 0
        isPlain = (high | low) & 0x8080_8080_8080_8080 == 0
    }
}
