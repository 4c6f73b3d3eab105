/// The grammar of a text format: the text around the root, and the items inside a container.
protocol TextFormatReader {
    init()
    /// Reads the text before the content of the root, which stays open where it is a container.
    static func begin(_ reader: inout TextReader<Self>) throws(PropertyListError)
    /// Reads the next item of the open container: an element, an entry, or the container's end.
    static func item(_ reader: inout TextReader<Self>) throws(PropertyListError)
    /// Reads the text behind the root, to its end.
    static func end(_ reader: inout TextReader<Self>) throws(PropertyListError)
}

extension TextFormatReader {
    /// The property list that a text, valid UTF-8, holds.
    static func read(_ cursor: TextCursor, limits: PropertyListLimits) throws(PropertyListError) -> PropertyList {
        var reader = try reader(of: cursor, limits: limits)
        return try reader.output.finish()
    }

    /// A reader that has read a text, valid UTF-8, to its end.
    static func reader(
        of cursor: TextCursor, limits: PropertyListLimits
    ) throws(PropertyListError) -> TextReader<Self> {
        var reader = TextReader<Self>(cursor, PropertyListBuilder(limits: limits))
        try reader.read()
        return reader
    }
}

/// Reads a text format, container by container and without recursion, into a builder.
struct TextReader<Format: TextFormatReader>: ~Copyable {
    var cursor: TextCursor
    var output: PropertyListBuilder
    /// The format's own state.
    var format = Format()
    /// Whether the open container is a dictionary, and the same for those around it.
    private(set) var isDictionary = false
    private var outer = GrowableBuffer<Bool>()

    init(_ cursor: TextCursor, _ output: consuming PropertyListBuilder) {
        self.cursor = cursor
        self.output = output
    }
}

extension TextReader {
    mutating func read() throws(PropertyListError) {
        do throws(PropertyListError) {
            try Format.begin(&self)
            try output.checkCount()
            while outer.count > 0 {
                try Format.item(&self)
                try output.checkCount()
            }
            try Format.end(&self)
        } catch {
            throw located(error)
        }
    }

    /// Adds the path and the location in the text, each where the error has none.
    private func located(_ error: PropertyListError) -> PropertyListError {
        var error = error
        if error.path.isEmpty { error.path = output.path }
        if error.location == nil { error.location = cursor.location(of: cursor.position) }
        return error
    }

    /// How many containers are open.
    var depth: Int { outer.count }

    mutating func open(isDictionary isInner: Bool) throws(PropertyListError) {
        if isInner { try output.beginDictionary() } else { try output.beginArray() }
        outer.append(isDictionary)
        isDictionary = isInner
    }

    mutating func close() throws(PropertyListError) {
        try output.end()
        leave()
    }

    /// Goes back to the container around the one whose end has been written.
    mutating func leave() {
        isDictionary = outer[outer.count - 1]
        outer.count -= 1
    }

    func malformed(_ words: ErrorWords, at position: Int? = nil) -> PropertyListError {
        cursor.malformed(words, at: position)
    }

    /// The error that the text here is not the `wanted` one.
    func unexpected(_ wanted: String) -> PropertyListError {
        malformed(.expected("\(wanted)", found: "\(cursor.found(at: cursor.position))"))
    }
}
