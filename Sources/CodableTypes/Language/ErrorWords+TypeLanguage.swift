internal import PropertyLists

extension ErrorWords {
    /// The same words with the type language's names for the types that were expected and found.
    var inTypeLanguage: ErrorWords { renamingTypes { Self.word(for: $0[...]) } }

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
