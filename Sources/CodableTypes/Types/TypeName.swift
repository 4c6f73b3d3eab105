internal import PropertyLists

/// The rules for the names of types and fields: the scanner, the parser and the registry share them.
enum TypeName {
    /// Whether a byte may stand in a word of the type language: a letter, a digit, `_`, or any beyond ASCII.
    static func isWordByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: "_") || byte >= 0x80
            || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
    }

    /// Whether a name stands bare in a text, and not in quotes: a word that begins with no digit.
    static func isWord(_ name: String) -> Bool {
        guard let first = name.utf8.first, !isDigit(first) else { return false }
        return name.utf8.allSatisfy(isWordByte)
    }

    /// Whether the language has a type of this name.
    static func isBuiltIn(_ name: String) -> Bool { name == "Any" || ScalarType.Kind(rawValue: name) != nil }

    /// - Throws: the error of a description whose type cannot have this name.
    static func check(_ name: String) throws(TypeError) {
        guard isWord(name), !isBuiltIn(name) else {
            throw TypeError(.description, .expected("a name for a type", found: "\"\(name)\""))
        }
    }
}
