internal import CKVCodable

/// The output of a reader: a builder, or a check of the same steps that keeps nothing.
///
/// Text is appended to `bytes` in pieces, and then named by where it starts.
protocol ReaderOutput: ~Copyable {
    var limits: PropertyListLimits { get }
    var bytes: GrowableBuffer<UInt8> { get set }
    /// Bytes of all text and data so far.
    var textSize: Int { get }
    /// Whether the output keeps more than a damaged file should cost.
    var isLarge: Bool { get }
    /// Throws where there are more values and keys than allowed; before a reader's end it is called only where
    /// `isLarge`.
    func checkCount() throws(PropertyListError)
    /// Whether the text stored last was cut, so that nothing can be told from it.
    var isCut: Bool { get }
    /// The path of the value that comes next, or came last.
    var path: PropertyListPath { get }

    /// Appends a piece of the text that starts at `start`.
    mutating func store(_ piece: UnsafeBufferPointer<UInt8>, of start: Int)
    mutating func append(scalar kind: PropertyListKind, _ payload: UInt64) throws(PropertyListError)
    mutating func append(storedFrom start: Int, as kind: PropertyListKind) throws(PropertyListError)
    mutating func appendKey(storedFrom start: Int) throws(PropertyListError)
    mutating func beginArray() throws(PropertyListError)
    mutating func beginDictionary() throws(PropertyListError)
    mutating func end() throws(PropertyListError)

    /// The number of the UID that the open dictionary stands for; nil for any other dictionary.
    var uidOfOpenDictionary: UInt32? { get }
    mutating func endDictionary(asUID uid: UInt32) throws(PropertyListError)
}

extension ReaderOutput where Self: ~Copyable {
    /// An integer where it fits in `Int64`, else an unsigned one.
    mutating func append(_ number: IntegerText) throws(PropertyListError) -> Bool {
        switch number {
        case .integer(let value): try append(scalar: .integer, UInt64(bitPattern: value))
        case .unsigned(let value): try append(scalar: value > UInt64(Int64.max) ? .unsigned : .integer, value)
        default: return false
        }
        return true
    }
}

extension PropertyListBuilder: ReaderOutput {
    /// A key on the key stack takes three times its own size more while it is sorted.
    var isLarge: Bool {
        (nodes.count &+ 4 &* keys.count) &* 16 &+ bytes.count > limits.uncheckedTree
    }

    /// Keys that come again count until their dictionary ends: each takes memory until then.
    func checkCount() throws(PropertyListError) { try limits.checkCount(nodes.count &+ keys.count) }

    var textSize: Int { bytes.count }

    var isCut: Bool { false }

    mutating func store(_ piece: UnsafeBufferPointer<UInt8>, of start: Int) { bytes.append(piece) }
}
