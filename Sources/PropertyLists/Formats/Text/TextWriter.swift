/// The writing of values in a text format.
protocol TextFormatWriter {
    init()
    static func write(_ writer: inout TextWriter<Self>) throws(PropertyListError)
}

extension TextFormatWriter {
    static func write(
        _ list: PropertyList, to output: inout GrowableBuffer<UInt8>, size: Int
    ) throws(PropertyListError) {
        var writer = TextWriter<Self>(list, output, size: size)
        output = GrowableBuffer()
        try write(&writer)
        output = writer.takeOutput()
    }
}

/// Writes a text format, value by value and without recursion.
struct TextWriter<Format: TextFormatWriter>: ~Copyable {
    var output: GrowableBuffer<UInt8>
    var walk: TreeWalk
    let document: Document
    /// The format's own state.
    var format = Format()
    /// The largest size of the output in bytes.
    private let size: Int

    init(_ list: PropertyList, _ output: consuming GrowableBuffer<UInt8>, size: Int = .max) {
        self.output = output
        self.size = size
        walk = TreeWalk(of: list)
        document = list.document
    }

    consuming func takeOutput() -> GrowableBuffer<UInt8> { output }

    /// The next event of the walk. Throws if the output is too large: a deep value takes much more room in a text than in
    /// memory.
    mutating func next() throws(PropertyListError) -> TreeWalk.Event? {
        guard output.count <= size else { throw .tooLarge(output.count, most: size) }
        return walk.next()
    }

    /// The error that the format cannot hold the value that came last.
    func unwritable(_ words: ErrorWords) -> PropertyListError {
        PropertyListError(.invalidValue, words, at: walk.path)
    }
}

extension PropertyListError {
    /// The error of a file that is not written since no reader would take it.
    static func tooLarge(_ size: Int, most: Int) -> PropertyListError {
        PropertyListError(.limitExceeded, .expected("a file of at most \(most) bytes", found: "\(size) or more"))
    }
}
