public import KVCodable

/// JSON for people: indented by two spaces, with a line for each key. Short arrays of scalars stand on one line.
public struct JSONText {
    /// The lines of comments before a member, and after the last member of an object.
    public typealias Comments = (PropertyListPath) -> (before: [String], end: [String])

    private(set) var text = ""
    private let comments: Comments?

    /// The value in JSON's form, without a newline at the end.
    public static func of(_ list: PropertyList, comments: Comments? = nil) throws -> String {
        var writer = JSONText(comments: comments)
        writer.write(try list.jsonForm(), at: [], indent: "")
        return writer.text
    }

    /// The text of a value without dates, data or other values that JSON lacks, such as a schema.
    public static func of(plain list: PropertyList) throws -> String {
        var writer = JSONText(comments: nil)
        writer.write(list, at: [], indent: "")
        return writer.text
    }

    /// The value in JSON's form on one line.
    public static func line(_ list: PropertyList) throws -> String {
        try String(decoding: list.jsonForm().serialized(as: .json), as: UTF8.self)
    }

    private init(comments: Comments?) { self.comments = comments }

    /// Recursion is bounded by the depth of values.
    private mutating func write(_ list: PropertyList, at path: PropertyListPath, indent: String) {
        let end = comments?(path).end ?? []
        switch list.kind {
        case .dictionary where list.count > 0 || !end.isEmpty:
            writeObject(list, at: path, indent: indent, end: end)
        case .array where list.count > 0 && !isShort(list): writeArray(list, at: path, indent: indent)
        default: text += Self.scalar(list)
        }
    }

    private func isShort(_ list: PropertyList) -> Bool {
        list.count <= 16 && list.elements.allSatisfy { $0.kind != .array && $0.kind != .dictionary }
            && Self.scalar(list).utf8.count <= 72
    }

    private mutating func writeObject(_ list: PropertyList, at path: PropertyListPath, indent: String, end: [String]) {
        let inner = indent + "  "
        text += "{\n"
        for (number, entry) in list.entries.enumerated() {
            let entryPath = path.appending(.key(entry.key))
            for line in comments?(entryPath).before ?? [] { text += "\(inner)// \(line)\n" }
            text += inner + Self.scalar(PropertyList(entry.key)) + ": "
            write(entry.value, at: entryPath, indent: inner)
            // With a comma before it, a member in a comment can be uncommented.
            text += number + 1 < list.count || !end.isEmpty ? ",\n" : "\n"
        }
        for line in end { text += "\(inner)// \(line)\n" }
        text += indent + "}"
    }

    private mutating func writeArray(_ list: PropertyList, at path: PropertyListPath, indent: String) {
        let inner = indent + "  "
        text += "[\n"
        for (index, element) in list.elements.enumerated() {
            text += inner
            write(element, at: path.appending(.index(index)), indent: inner)
            text += index + 1 < list.count ? ",\n" : "\n"
        }
        text += indent + "]"
    }

    /// The value on one line. JSON can write every value in JSON's form.
    private static func scalar(_ list: PropertyList) -> String {
        (try? String(decoding: list.serialized(as: .json), as: UTF8.self)) ?? ""
    }
}

/// JSON with comments, from an editor. Comments, and a comma before a closing brace, become blanks, so that lines and
/// columns stay the same.
public struct CommentedJSON {
    private var bytes: [UInt8]
    private var position = 0

    /// The text without comments.
    public static func stripped(_ text: [UInt8]) -> [UInt8] {
        var reader = CommentedJSON(bytes: text)
        reader.strip()
        return reader.bytes
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func strip() {
        var comma: Int?
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                skipString()
                comma = nil
            case UInt8(ascii: "/") where isNext("/"): blank { $0 != UInt8(ascii: "\n") }
            case UInt8(ascii: ","):
                comma = position
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if let comma { bytes[comma] = UInt8(ascii: " ") }
                comma = nil
                position += 1
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): position += 1
            default:
                comma = nil
                position += 1
            }
        }
    }

    private func isNext(_ mark: Unicode.Scalar) -> Bool {
        position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: mark)
    }

    private mutating func blank(while holds: (UInt8) -> Bool) {
        while position < bytes.count, holds(bytes[position]) {
            bytes[position] = UInt8(ascii: " ")
            position += 1
        }
    }

    private mutating func skipString() {
        position += 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        position += 1
    }
}
