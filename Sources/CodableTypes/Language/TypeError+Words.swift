extension TypeError {
    /// The same error in the words of the type language and of property lists, for languages that have no Swift types:
    /// `Int` for `BinaryInteger`, `Array` for `Array<Any>`, `Dictionary` for `Dictionary<String, Any>`, `UID` for
    /// `PropertyListUID`; `Expected Int at window.width, found nothing` for a key that is not there.
    public var inTypeLanguage: TypeError {
        var error = self
        if let words = plainWords {
            (error.subject, error.finding) = (words.subject, words.finding)
            error.plainWords = nil
            return error
        }
        // An error about a value in a type's text has the whole message as its subject.
        error.subject = Self.translated(Self.translated(subject, behind: "Expected "), behind: ", found ")
        error.finding = Self.translated(finding, behind: ", found ")
        return error
    }

    private static func translated(_ text: String, behind start: String) -> String {
        guard let range = text.firstRange(of: start), start != "Expected " || range.lowerBound == text.startIndex
        else { return text }
        let name = typeName(in: text[range.upperBound...])
        return text[..<range.upperBound] + word(for: name) + text[name.endIndex...]
    }

    /// The name of a type that a text begins with, with its arguments.
    private static func typeName(in text: Substring) -> Substring {
        var depth = 0
        let end = text.indices.first { index in
            switch text[index] {
            case "<": depth += 1
            case ">": depth -= 1
            case " ", ",": return depth == 0
            default: break
            }
            return false
        }
        return text[..<(end ?? text.endIndex)]
    }

    /// The type language's name for Swift's name of a type. Other texts stay.
    private static func word(for name: Substring) -> String {
        switch name {
        case "BinaryInteger": return "Int"
        case "BinaryFloatingPoint": return "Double"
        case "PropertyListUID": return "UID"
        default:
            guard name.hasSuffix(">"), let start = name.firstIndex(of: "<") else { return String(name) }
            return generic(name[..<start], of: name[name.index(after: start)...].dropLast()) ?? String(name)
        }
    }

    private static func generic(_ name: Substring, of argument: Substring) -> String? {
        switch name {
        case "Array", "Set": "Array"
        case "Dictionary": "Dictionary"
        case "Optional": word(for: argument) + "?"
        default: nil
        }
    }
}
