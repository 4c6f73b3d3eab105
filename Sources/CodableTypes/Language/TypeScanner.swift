internal import PropertyLists

/// Reads the words and marks of the type language.
struct TypeScanner {
    private let text: [UInt8]
    private(set) var position = 0
    /// The lines of doc comments that were met, from the first slash to the line's end.
    private var documentationLines: [Range<Int>] = []

    init(_ text: String) {
        self.text = Array(text.utf8)
    }

    // MARK: - Looking

    var current: UInt8? { position < text.count ? text[position] : nil }

    private func byte(_ distance: Int) -> UInt8? { byte(at: position + distance) }

    var isAtEnd: Bool { current == nil }

    func isAt(_ mark: Character) -> Bool { current != nil && current == mark.asciiValue }

    /// Whether the text from a position on begins with a word.
    func isBehind(_ word: String, from start: Int) -> Bool { text[start...].starts(with: word.utf8) }

    // MARK: - Moving

    /// Skips blanks and comments; true where a line ended on the way.
    @discardableResult
    mutating func skipBlanks() throws(TypeError) -> Bool {
        var sawLineEnd = false
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\n"):
                sawLineEnd = true
                position += 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
                position += 1
            case UInt8(ascii: "/") where self.byte(1) == UInt8(ascii: "/"):
                skipLine()
            case UInt8(ascii: "/") where self.byte(1) == UInt8(ascii: "*"):
                try skipComment()
            default:
                return sawLineEnd
            }
        }
        return sawLineEnd
    }

    private mutating func skipLine() {
        let start = position
        while let byte = current, byte != UInt8(ascii: "\n") { position += 1 }
        let isDocumentation =
            text[start..<position].starts(with: "///".utf8) && byte(at: start + 3) != UInt8(ascii: "/")
        // Blanks may be skipped several times.
        if isDocumentation, start >= documentationLines.last?.upperBound ?? 0 {
            documentationLines.append(start..<position)
        }
    }

    private func byte(at index: Int) -> UInt8? { index < text.count ? text[index] : nil }

    /// The lines of the doc comment that ends before the current position, where only blanks are between; nil where
    /// there is none. One space behind the slashes does not belong to it.
    func documentation() -> String? {
        var end = position
        var lines: [String] = []
        for line in documentationLines.reversed() where line.upperBound <= end {
            guard text[line.upperBound..<end].allSatisfy(isBlank) else { break }
            end = line.lowerBound
            let words = text[line].dropFirst(
                text[line].count > 3 && text[line.lowerBound + 3] == UInt8(ascii: " ") ? 4 : 3)
            let last = words.lastIndex { !isBlank($0) }
            lines.append(String(decoding: words[..<(last.map { $0 + 1 } ?? words.startIndex)], as: UTF8.self))
        }
        let text = lines.reversed().joined(separator: "\n")
        return text.isEmpty ? nil : text
    }

    private func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\n")
    }

    /// Comments nest, as in Swift.
    private mutating func skipComment() throws(TypeError) {
        let start = position
        var depth = 0
        repeat {
            let opens = isAt("/") && byte(1) == UInt8(ascii: "*")
            let closes = isAt("*") && byte(1) == UInt8(ascii: "/")
            if opens { depth += 1 } else if closes { depth -= 1 }
            position += opens || closes ? 2 : 1
        } while depth > 0 && current != nil
        guard depth == 0 else { throw error("an end of the comment", at: start) }
    }

    /// Moves over the mark if it comes next; else stays in front of the blanks, so that a line's end is still seen.
    mutating func skip(_ mark: Character) throws(TypeError) -> Bool {
        let start = position
        try skipBlanks()
        guard isAt(mark) else {
            position = start
            return false
        }
        position += 1
        return true
    }

    mutating func expect(_ mark: Character) throws(TypeError) {
        guard try skip(mark) else {
            try skipBlanks()
            throw error("\"\(mark)\"")
        }
    }

    mutating func skip(_ marks: String) throws(TypeError) -> Bool {
        let start = position
        try skipBlanks()
        guard text[position...].starts(with: marks.utf8) else {
            position = start
            return false
        }
        position += marks.utf8.count
        return true
    }

    /// The position of the next word or mark.
    mutating func start() throws(TypeError) -> Int {
        try skipBlanks()
        return position
    }

    // MARK: - Words

    /// A letter or underscore, then letters, digits and underscores; letters are also all above ASCII.
    mutating func name(_ what: String) throws(TypeError) -> String {
        try skipBlanks()
        let start = position
        while let byte = current, TypeName.isWordByte(byte), !(position == start && isDigit(byte)) { position += 1 }
        guard position > start else { throw error(what) }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    /// A name, in double quotes where it is no word.
    mutating func quotableName(_ what: String) throws(TypeError) -> String {
        try skipBlanks()
        return isAt("\"") ? try string() : try name(what)
    }

    /// Whether a word comes next.
    mutating func isAtName() throws(TypeError) -> Bool {
        try skipBlanks()
        guard let current else { return false }
        return TypeName.isWordByte(current) && !isDigit(current)
    }

    /// Whether a number comes next.
    mutating func isAtNumber() throws(TypeError) -> Bool {
        try skipBlanks()
        guard let current else { return false }
        return isDigit(current) || current == UInt8(ascii: "-")
    }

    /// The text of a number that a Double holds as itself, rounded at most: no infinity.
    mutating func real() throws(TypeError) -> Double {
        let start = try start()
        guard let number = Double(try number()), number.isFinite else {
            throw error("a number that Double holds", at: start)
        }
        return number
    }

    /// A whole number that some integer type holds.
    mutating func whole() throws(TypeError) -> Int128 {
        let start = try start()
        guard let number = Int128(try number()) else { throw error("a whole number", at: start) }
        return number
    }

    /// A whole number that a length can be.
    mutating func count() throws(TypeError) -> Int {
        let start = try start()
        guard let number = Int(try number()), number >= 0 else { throw error("a length", at: start) }
        return number
    }

    /// The text of a number: a sign, digits, one point with digits behind it, an exponent.
    mutating func number() throws(TypeError) -> String {
        try skipBlanks()
        let start = position
        if isAt("-") { position += 1 }
        skipDigits()
        guard position > start, isDigit(text[position - 1]) else { throw error("a number", at: start) }
        if isAt("."), let next = byte(1), isDigit(next) {
            position += 1
            skipDigits()
        }
        if let mark = current, mark | 0x20 == UInt8(ascii: "e") { skipExponent() }
        return String(decoding: text[start..<position], as: UTF8.self).filter { $0 != "_" }
    }

    private mutating func skipDigits() {
        while let byte = current, isDigit(byte) || byte == UInt8(ascii: "_") { position += 1 }
    }

    private mutating func skipExponent() {
        let start = position
        position += 1
        if isAt("-") || isAt("+") { position += 1 }
        let digits = position
        skipDigits()
        if position == digits { position = start }
    }

    /// The text between double quotes, with `\"`, `\\`, `\n`, `\t`, `\r`, `\0` and `\u{…}`.
    mutating func string() throws(TypeError) -> String {
        try expect("\"")
        let start = position
        var result: [UInt8] = []
        while let byte = current, byte != UInt8(ascii: "\"") {
            position += 1
            if byte == UInt8(ascii: "\\") { try escape(into: &result) } else { result.append(byte) }
        }
        guard current != nil else { throw error("an end of the string", at: start) }
        position += 1
        return String(decoding: result, as: UTF8.self)
    }

    private mutating func escape(into result: inout [UInt8]) throws(TypeError) {
        guard let mark = current else { throw error("a character behind the backslash") }
        let plain: [UInt8: UInt8] = [
            UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "\\"): UInt8(ascii: "\\"), UInt8(ascii: "n"): 10,
            UInt8(ascii: "t"): 9, UInt8(ascii: "r"): 13, UInt8(ascii: "0"): 0,
        ]
        if let byte = plain[mark] {
            position += 1
            return result.append(byte)
        }
        guard mark == UInt8(ascii: "u") else { throw error("an escape: \\\" \\\\ \\n \\t \\r \\0 \\u{…}") }
        position += 1
        try expect("{")
        let start = position
        while let byte = current, byte != UInt8(ascii: "}") { position += 1 }
        let digits = String(decoding: text[start..<position], as: UTF8.self)
        guard let value = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(value) else {
            throw error("a Unicode scalar in hexadecimal", at: start)
        }
        try expect("}")
        result.append(contentsOf: Array(String(Character(scalar)).utf8))
    }

    // MARK: - Errors

    /// The error that the `expected` text is not at a position.
    func error(_ expected: String, at index: Int? = nil, _ code: TypeError.Code = .syntax) -> TypeError {
        let index = index ?? position
        return TypeError(code, .expected(expected, found: found(at: index)), location: location(of: index))
    }

    func location(of index: Int) -> PropertyListError.Location {
        let before = text[..<index]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return .line(line, column: before[start...].count { $0 & 0xC0 != 0x80 } + 1)
    }

    private func found(at index: Int) -> String {
        guard index < text.count else { return "the end" }
        var end = index + 1
        if TypeName.isWordByte(text[index]) {
            let isNumber = isDigit(text[index])
            // A number's point belongs to it, two of them are a mark.
            func isPoint(_ index: Int) -> Bool {
                isNumber && text[index] == UInt8(ascii: ".") && index + 1 < text.count && isDigit(text[index + 1])
            }
            while end < text.count, TypeName.isWordByte(text[end]) || isPoint(end) { end += 1 }
        }
        return "\"" + shown(String(decoding: text[index..<end], as: UTF8.self)) + "\""
    }
}
