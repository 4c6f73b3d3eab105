package import CKVCodable

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The keys of records: dictionaries that have the same keys, and scalars for values. Programs set these most often, so
/// the keys are checked and sorted once, and each record brings its values alone.
package final class RecordShape: Sendable {
    /// As they stand behind the values, sorted, with their text from offset 0 on.
    fileprivate let keys: [kv_node]
    fileprivate let text: [UInt8]
    /// Whether no byte of the text is a control character, or not ASCII.
    fileprivate let isPlain: Bool

    /// - Parameter keys: in the order of the values.
    /// - Throws: ``PropertyListError``: no keys, too many, too much text, two that are equal, one that is not UTF-8.
    package init(keys: [UnsafeRawBufferPointer]) throws(PropertyListError) {
        guard Self.counts ~= keys.count else {
            throw PropertyListError(
                .limitExceeded, "Expected 1 to \(Self.counts.upperBound) keys, found \(keys.count)")
        }
        var written: [UInt8] = []
        var nodes: [kv_node] = []
        for (index, key) in keys.enumerated() {
            guard isValidUTF8(key) else { throw PropertyListError(.invalidValue, "Expected UTF-8 in a key") }
            guard key.count <= Self.maximumText &- written.count else {
                throw PropertyListError(.limitExceeded, "Expected at most \(Self.maximumText) bytes of keys")
            }
            var node = kv_node(head: 0, count: UInt32(key.count), payload: UInt64(written.count))
            node.distance = index + 1
            nodes.append(node)
            written += key
        }
        let unique = nodes.withUnsafeMutableBufferPointer { nodes in
            written.withUnsafeBufferPointer { sortKeys(nodes, bytes: $0) }
        }
        guard unique == keys.count else {
            throw PropertyListError(.invalidValue, "A key stands twice in a dictionary")
        }
        var text: [UInt8] = []
        for index in nodes.indices {
            let start = Int(nodes[index].payload)
            nodes[index].payload = UInt64(text.count)
            text += written[start..<start + Int(nodes[index].count)]
        }
        self.keys = nodes
        self.text = text
        isPlain = text.withUnsafeBytes { ByteSurvey($0).isPlain }
    }

    @inline(__always)
    fileprivate func copy(keysTo nodes: UnsafeMutablePointer<kv_node>, textTo tail: UnsafeMutableRawPointer) {
        keys.withUnsafeBytes { keys in
            if let source = keys.baseAddress { memcpy(nodes, source, keys.count) }
        }
        text.withUnsafeBytes { text in
            if let source = text.baseAddress { memcpy(tail, source, text.count) }
        }
    }

    /// How many keys a shape may have: more than any program's records.
    package static let counts = 1...4096
    private static let maximumText = 1 << 20
}

extension PropertyList {
    /// A dictionary of values that are laid out as `kvcodable_nodes.h` says, once they are found to be so.
    ///
    /// - Parameters:
    ///   - values: as many scalars as the shape has keys. The memory may change or go away after the call.
    ///   - bytes: what they refer to.
    /// - Throws: ``PropertyListError``, with the path of the value that is wrong.
    package init(
        record values: UnsafePointer<kv_node>, of shape: RecordShape, bytes: UnsafeRawBufferPointer
    ) throws(PropertyListError) {
        let count = shape.keys.count
        let nodeCount = count &* 2 &+ 1
        let byteCount = shape.text.count &+ bytes.count
        let size = nodeCount &* MemoryLayout<kv_node>.stride
        guard let block = malloc(size &+ byteCount &+ LayoutCheck.padding) else {
            throw PropertyListError(.limitExceeded, "No memory for \(nodeCount) values")
        }
        let nodes = block.bindMemory(to: kv_node.self, capacity: nodeCount)
        nodes[0] = kv_node(kind: .dictionary, count: count, payload: UInt64(truncatingIfNeeded: nodeCount))
        let copy = RecordCopy(
            values, to: UnsafeMutableRawPointer(nodes + 1), count, text: shape.text.count, bytes.count)
        let tail = block + size
        shape.copy(keysTo: nodes + (count &+ 1), textTo: tail)
        if let source = bytes.baseAddress { memcpy(tail + shape.text.count, source, bytes.count) }
        let survey = ByteSurvey(UnsafeRawBufferPointer(start: tail + shape.text.count, count: bytes.count))
        var facts = DocumentFacts()
        if copy.isPlain, survey.isASCII {
            facts.kinds = copy.kinds | 1 &<< PropertyListKind.dictionary.rawValue
            facts.depth = 1
            facts.isPlainText = survey.isPlain && shape.isPlain
            facts.hasUIDLikeDictionary = count == 1 && shape.text.count == 6
        } else {
            do throws(PropertyListError) {
                facts = try Self.checked(block, nodeCount, byteCount, copy)
            } catch {
                free(block)
                throw error
            }
        }
        self.init(
            document: Document(taking: block, nodeCount: nodeCount, byteCount: byteCount, facts: facts), index: 0)
    }

    /// What the whole check finds of a record that has been put together.
    @inline(never)
    private static func checked(
        _ block: UnsafeMutableRawPointer, _ nodeCount: Int, _ byteCount: Int, _ copy: RecordCopy
    ) throws(PropertyListError) -> DocumentFacts {
        guard copy.isWithin else {
            throw PropertyListError(.malformed, "Not a document: a string or data lies outside the bytes")
        }
        var check = LayoutCheck(
            block: block, nodeCount: nodeCount, byteCount: byteCount, limits: PropertyListLimits())
        try check.document()
        return check.facts
    }
}

/// What is found of a record's values while they are copied: each is read once, and what was read is what is checked.
private struct RecordCopy {
    /// A bit for each kind.
    private(set) var kinds: UInt32 = 0
    /// Whether all are integers, reals, booleans and strings, of which nothing else has to be known.
    private(set) var isPlain = false
    /// Whether all strings and data lie within the bytes.
    private(set) var isWithin = true

    private static let string = PropertyListKind.string.rawValue
    private static let data = PropertyListKind.data.rawValue
    private static let boolean = PropertyListKind.boolean.rawValue
    private static let plain =
        1 &<< string | 1 &<< boolean | 1 &<< PropertyListKind.integer.rawValue | 1 &<< PropertyListKind.real.rawValue

    /// - Parameters:
    ///   - text: the length of what will stand before the bytes, by which offsets grow.
    ///   - byteCount: how many bytes the values may refer to.
    @inline(never)
    init(
        _ source: UnsafePointer<kv_node>, to target: UnsafeMutableRawPointer, _ count: Int, text: Int, _ byteCount: Int
    ) {
        let stride = MemoryLayout<kv_node>.stride
        var heads: UInt32 = 0
        var booleans: UInt64 = 0
        var claimed = 0
        var source = UnsafeRawPointer(source)
        var target = target
        let end = source + count &* stride
        while source < end {
            // As two words, which take two moves.
            let first = source.load(as: UInt64.self)
            var payload = source.load(fromByteOffset: 8, as: UInt64.self)
            let head = UInt32(truncatingIfNeeded: first)
            heads |= head
            kinds |= 1 &<< head
            if head == Self.string || head == Self.data {
                let length = Int(truncatingIfNeeded: first &>> 32)
                let offset = Int(truncatingIfNeeded: payload)
                if offset < 0 || length > byteCount &- offset { isWithin = false }
                claimed &+= length
                payload &+= UInt64(truncatingIfNeeded: text)
            } else if head == Self.boolean {
                booleans |= payload
            }
            target.storeBytes(of: first, as: UInt64.self)
            target.storeBytes(of: payload, toByteOffset: 8, as: UInt64.self)
            source += stride
            target += stride
        }
        isPlain = isWithin && heads < 16 && kinds & ~Self.plain == 0 && booleans <= 1 && claimed <= byteCount
    }
}
