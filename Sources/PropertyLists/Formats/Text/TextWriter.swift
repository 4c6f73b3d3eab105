/// The writing of values in a text format.
protocol TextFormatWriter {
    init()
    static func write(_ writer: inout TextWriter<Self>) throws(PropertyListError)
}

extension TextFormatWriter {
    static func write(_ list: PropertyList, to output: inout GrowableBuffer<UInt8>) throws(PropertyListError) {
        var writer = TextWriter<Self>(list, output)
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

    init(_ list: PropertyList, _ output: consuming GrowableBuffer<UInt8>) {
        self.output = output
        walk = TreeWalk(of: list)
        document = list.document
    }

    consuming func takeOutput() -> GrowableBuffer<UInt8> { output }

    /// The error that the format cannot hold the value that came last.
    func unwritable(_ words: ErrorWords) -> PropertyListError {
        PropertyListError(.invalidValue, words, at: walk.path)
    }
}
