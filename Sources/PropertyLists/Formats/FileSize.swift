internal import CKVCodable

/// The size of a value: its nodes, and the most bytes that it takes in a file. A store's limits are about these.
///
/// A sum over the parts of a value, so that a change is counted by the parts that it adds and removes. ``XMLWriter``,
/// ``JSONWriter`` and ``BinaryWriter`` decide the text around each kind of value; a test makes sure that none writes
/// more than is counted here.
@usableFromInline package struct FileSize: Hashable, Sendable {
    /// Values and keys.
    @usableFromInline package var nodes: Int
    @usableFromInline package var bytes: Int

    @inlinable package init(nodes: Int = 0, bytes: Int = 0) {
        self.nodes = nodes
        self.bytes = bytes
    }

    /// The bytes around the root of a file.
    package static let frame = FileSize(bytes: 256)

    @inlinable package static func + (left: FileSize, right: FileSize) -> FileSize {
        FileSize(nodes: left.nodes &+ right.nodes, bytes: left.bytes &+ right.bytes)
    }

    @inlinable package static func - (left: FileSize, right: FileSize) -> FileSize {
        FileSize(nodes: left.nodes &- right.nodes, bytes: left.bytes &- right.bytes)
    }

    @inlinable package static func += (left: inout FileSize, right: FileSize) { left = left + right }

    /// The size of a dictionary's key.
    package init(ofKey key: UnsafeBufferPointer<UInt8>, as format: PropertyListFormat, depth: Int) {
        let text = FileText(format).size(of: key)
        self.init(nodes: 1, bytes: FileLayout(format).key &+ text &+ format.indentation &* depth)
    }

    /// The size of an array or dictionary without its values.
    package init(ofContainerAs format: PropertyListFormat, depth: Int) {
        self.init(nodes: 1, bytes: FileLayout(format).container &+ format.indentation &* depth)
    }
}

extension PropertyListFormat {
    /// The most bytes of white space that a key or a value has on its lines for each container that it stands in.
    fileprivate var indentation: Int {
        switch self {
        // A tab on each line. A container takes two lines, of its beginning and end; every other value at most two.
        case .xml, .openStep: 2
        // Two spaces, also before the end of a container.
        case .json: 4
        case .binary: 0
        }
    }
}

extension PropertyList {
    /// The value's size in a file of the format, where it stands in `depth` containers. Takes time in proportion to the
    /// nodes and the text.
    package func fileSize(as format: PropertyListFormat, depth: Int) -> FileSize {
        let layout = FileLayout(format)
        let text = FileText(format)
        // Most documents have no byte to escape. One pass over all texts finds that.
        let isPlain = isWholeDocument && text.isPlain(document.bytes, document.byteCount)
        let span = node.span
        var bytes = 0
        // The sum of how many containers each node stands in.
        var depths = span &* depth
        for position in index..<(index &+ span) {
            let node = document.nodes[position]
            if node.isKey {
                bytes &+= layout.key &+ (isPlain ? Int(node.count) : text.size(of: document.buffer(of: node)))
                continue
            }
            switch node.kind {
            case .string:
                bytes &+= layout.string &+ (isPlain ? Int(node.count) : text.size(of: document.buffer(of: node)))
            case .data: bytes &+= layout.data(Int(node.count))
            case .array, .dictionary:
                bytes &+= layout.container
                depths &+= node.span &- 1
            case .integer: bytes &+= layout.integer(Int64(bitPattern: node.payload))
            case .boolean: bytes &+= layout.boolean
            case .date: bytes &+= layout.date
            case .uid: bytes &+= layout.uid
            default: bytes &+= layout.number
            }
        }
        return FileSize(nodes: span, bytes: bytes &+ format.indentation &* depths)
    }
}

/// The most bytes that a writer puts around a value of each kind, besides the indentation.
private struct FileLayout {
    let key: Int
    let string: Int
    let number: Int
    let boolean: Int
    let date: Int
    let uid: Int
    let container: Int
    private let format: PropertyListFormat

    init(_ format: PropertyListFormat) {
        self.format = format
        switch format {
        case .xml, .openStep:
            (key, string, number, boolean, date, container) = (12, 18, 48, 9, 112, 17)
            // Two lines more, each at the largest depth.
            uid = 72 + 2 * PropertyListLimits.maximumDepth
        // With a newline, a comma, and the space behind a key.
        case .json: (key, string, number, boolean, date, uid, container) = (6, 4, 32, 7, 0, 0, 5)
        // A marker with a length, a reference and an offset.
        case .binary: (key, string, number, boolean, date, uid, container) = (24, 24, 24, 13, 24, 24, 24)
        }
    }

    /// A digit holds more than 16/5 bits; sign and tags come on top.
    func integer(_ value: Int64) -> Int {
        if format == .binary { return 24 }
        let digits = (64 &- value.magnitude.leadingZeroBitCount) &* 5 / 16 &+ 1
        return digits &+ (format == .json ? 3 : 21)
    }

    func data(_ count: Int) -> Int {
        switch format {
        // The shortest lines have nine bytes in twelve characters, eight tabs and the end.
        case .xml, .openStep: 40 &+ (count &+ 8) / 9 &* 21
        default: 24 &+ count
        }
    }
}

/// The size of text in a file.
private struct FileText {
    private let format: PropertyListFormat

    init(_ format: PropertyListFormat) { self.format = format }

    func size(of text: UnsafeBufferPointer<UInt8>) -> Int {
        switch format {
        case .xml, .openStep: text.count &+ 4 &* count(text) { isEscapedInXML($0) }
        case .json: text.count &+ 5 &* count(text) { isEscapedInJSON($0) }
        case .binary: isASCII(UnsafeRawBufferPointer(text)) ? text.count : 2 &* text.count
        }
    }

    /// Whether every byte of a text takes one byte in the file. Looks at eight bytes at a time: without that a set of
    /// 10,000 strings takes a quarter longer ("10,000 strings" of `make bench`).
    func isPlain(_ base: UnsafePointer<UInt8>?, _ count: Int) -> Bool {
        let text = UnsafeRawBufferPointer(start: base, count: count)
        if format == .binary { return isASCII(text) }
        var position = 0
        var found: UInt64 = 0
        while position &+ 8 <= count {
            found |= escapedBytes(text.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position &+= 8
        }
        while position < count {
            // A space stands in for the other bytes.
            found |= escapedBytes(0x2020_2020_2020_2000 | UInt64(text[position]))
            position &+= 1
        }
        return found == 0
    }

    /// Not 0 if a byte of a word needs more than one byte.
    private func escapedBytes(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        if format == .json {
            let low = (word &- 0x20 &* ones) & ~word & (0x80 &* ones)
            return low | zeroBytes(word ^ 0x22 &* ones) | zeroBytes(word ^ 0x5C &* ones)
        }
        return zeroBytes(word ^ 0x26 &* ones) | zeroBytes(word ^ 0x3C &* ones) | zeroBytes(word ^ 0x3E &* ones)
            | zeroBytes(word ^ 0x0D &* ones)
    }

    private func isEscapedInXML(_ byte: UInt8) -> Bool { byte == 0x26 || byte == 0x3C || byte == 0x3E || byte == 0x0D }

    private func isEscapedInJSON(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x22 || byte == 0x5C }

    private func count(_ text: UnsafeBufferPointer<UInt8>, _ isLonger: (UInt8) -> Bool) -> Int {
        var count = 0
        for byte in text { count &+= isLonger(byte) ? 1 : 0 }
        return count
    }
}
