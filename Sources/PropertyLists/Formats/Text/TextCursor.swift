/// A position in a text of UTF-8 bytes, which outlive it.
struct TextCursor {
    let base: UnsafePointer<UInt8>
    let count: Int
    var position = 0

    /// An empty text has no address; any will do, since none of its bytes is ever read.
    init(_ text: UnsafeBufferPointer<UInt8>) {
        base = text.baseAddress ?? UnsafePointer(bitPattern: 1).unsafelyUnwrapped
        count = text.count
    }

    /// The byte here; nil at the end.
    var current: UInt8? {
        position < count ? base[position] : nil
    }

    /// The byte `offset` bytes on; nil behind the end.
    func byte(_ offset: Int) -> UInt8? {
        offset < count &- position ? base[position &+ offset] : nil
    }

    mutating func skipWhitespace() {
        while position < count, isWhitespace(base[position]) { position &+= 1 }
    }

    mutating func skip(while condition: (UInt8) -> Bool) {
        while position < count, condition(base[position]) { position &+= 1 }
    }

    /// Whether `text` stands here.
    func isAt(_ text: StaticString) -> Bool {
        guard text.utf8CodeUnitCount <= count &- position else { return false }
        for index in 0..<text.utf8CodeUnitCount where base[position &+ index] != text.utf8Start[index] { return false }
        return true
    }

    /// Steps over `text` where it stands here.
    mutating func consume(_ text: StaticString) -> Bool {
        guard isAt(text) else { return false }
        position &+= text.utf8CodeUnitCount
        return true
    }

    /// Steps behind the next `text`; false, and nothing moves, where there is none.
    mutating func skip(behind text: StaticString) -> Bool {
        var ahead = self
        while ahead.position < count {
            if ahead.consume(text) {
                self = ahead
                return true
            }
            ahead.position &+= 1
        }
        return false
    }

    func slice(_ start: Int, _ end: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: base + start, count: end - start)
    }

    /// An error about the text at a position, or here.
    func malformed(_ words: ErrorWords, at position: Int? = nil) -> PropertyListError {
        PropertyListError(.malformed, words, location: location(of: position ?? self.position))
    }

    /// The text at a position, for a message.
    func found(at position: Int) -> String {
        guard position < count else { return "the end" }
        let scalar = String(decoding: slice(position, min(position + 4, count)), as: UTF8.self).unicodeScalars.first
        guard let scalar else { return "nothing" }
        return scalar.value < 0x20
            ? "U+00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16) : "\(scalar)"
    }

    /// Line and column of a position, for errors: `\n`, `\r\n` and `\r` end a line; a column is a Unicode scalar.
    func location(of position: Int) -> PropertyListError.Location {
        let end = min(position, count)
        var line = 1
        var start = 0
        for index in 0..<end {
            let isReturn = base[index] == 0x0D && !(index + 1 < count && base[index + 1] == 0x0A)
            guard base[index] == 0x0A || isReturn else { continue }
            line += 1
            start = index + 1
        }
        let column = slice(start, end).lazy.filter { $0 & 0xC0 != 0x80 }.count + 1
        return .line(line, column: column)
    }
}
