/// Takes the steps of a reader and keeps only the path, so that the fault of a damaged file is found with little
/// memory.
///
/// A reader goes through a file larger than ``PropertyListLimits/uncheckedFile`` with this before it writes, and
/// through a smaller one as soon as it has written more than ``PropertyListLimits/uncheckedTree``, so that a damaged
/// file never takes much more memory than its size: a value of two bytes in a file takes 16 in a document, and files of
/// up to 1 GB are read. It accepts everything that a builder accepts, and gives the same errors.
struct ReaderCheck: ReaderOutput, ~Copyable {
    /// The longest text that is kept and checked as a whole, in bytes.
    fileprivate static let longestText = 4 << 20

    private struct Frame: BitwiseCopyable {
        var isDictionary: Bool
        /// Elements, or keys, so far.
        var count = 0
        /// The start of the latest key's text in `keys`.
        var key: Int
    }

    let limits: PropertyListLimits
    var bytes = GrowableBuffer<UInt8>()
    private(set) var isCut = false
    private(set) var textSize = 0
    private var frames = GrowableBuffer<Frame>()
    /// The latest key of each open dictionary, one behind the other.
    private var keys = GrowableBuffer<UInt8>()

    init(limits: PropertyListLimits) {
        self.limits = limits
    }

    var isLarge: Bool { false }

    func checkCount() throws(PropertyListError) {}

    mutating func store(_ piece: UnsafeBufferPointer<UInt8>, of start: Int) {
        if bytes.count &- start &+ piece.count > Self.longestText {
            textSize &+= bytes.count &- start &+ piece.count
            isCut = true
            bytes.count = start
        } else {
            bytes.append(piece)
        }
    }

    mutating func append(scalar kind: PropertyListKind, _ payload: UInt64) throws(PropertyListError) { admit() }

    mutating func append(storedFrom start: Int, as kind: PropertyListKind) throws(PropertyListError) {
        forget(from: start)
        admit()
    }

    mutating func appendKey(storedFrom start: Int) throws(PropertyListError) {
        if frames.count > 0 {
            let top = frames.count - 1
            frames[top].count &+= 1
            keys.count = frames[top].key
            keys.append(UnsafeBufferPointer(rebasing: bytes.contents[start...]))
        }
        forget(from: start)
    }

    private mutating func forget(from start: Int) {
        textSize &+= bytes.count &- start
        bytes.count = start
        isCut = false
    }

    mutating func beginArray() throws(PropertyListError) { try begin(isDictionary: false) }

    mutating func beginDictionary() throws(PropertyListError) { try begin(isDictionary: true) }

    private mutating func begin(isDictionary: Bool) throws(PropertyListError) {
        guard frames.count < limits.depth else {
            throw PropertyListError(.limitExceeded, "Deeper than \(limits.depth) levels", at: path)
        }
        admit()
        frames.append(Frame(isDictionary: isDictionary, key: keys.count))
    }

    mutating func end() throws(PropertyListError) {
        guard frames.count > 0 else { return }
        frames.count -= 1
        keys.count = frames[frames.count].key
    }

    private mutating func admit() {
        guard frames.count > 0, !frames[frames.count &- 1].isDictionary else { return }
        frames[frames.count &- 1].count &+= 1
    }

    /// A UID replaces its dictionary, which makes no difference here.
    var uidOfOpenDictionary: UInt32? { nil }

    mutating func endDictionary(asUID uid: UInt32) throws(PropertyListError) { try end() }

    var path: PropertyListPath {
        var steps: [PropertyListPath.Step] = []
        for index in 0..<frames.count {
            let frame = frames[index]
            let isLast = index == frames.count - 1
            if !frame.isDictionary {
                steps.append(.index(isLast ? frame.count : frame.count - 1))
            } else if frame.count > 0 {
                let text = keys.contents[frame.key..<(isLast ? keys.count : frames[index + 1].key)]
                steps.append(.key(String(decoding: text, as: UTF8.self)))
            }
        }
        return PropertyListPath(steps)
    }
}
