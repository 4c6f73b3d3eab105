/// The words of a type, a field or a case for people, which change nothing about its values: types that differ in them
/// alone are equal.
///
/// ```swift
/// let types = try TypeRegistry().declare(
///     """
///     /// The main window.
///     struct Window {
///         /// In pixels. At most what the screen has.
///         width: Int @deprecated("use size")
///     }
///     """)
/// print(types[0].words.title ?? "", types[0].members[0].words.deprecation ?? "")  // The main window. use size
/// ```
public struct TypeWords: Sendable, Hashable {
    /// The doc comment: its lines without the slashes; nil for none.
    public var documentation: String?
    /// The advice of `@deprecated`: a replacement, or why not to use it; nil without one.
    public var deprecation: String?
    /// Whether tools never show the values. The file holds them as they are: secrets belong in a keyring.
    public var isSecret: Bool

    /// Words, for ``TypeRegistry/Registration``. The lines of the documentation end as those of any system do.
    public init(_ documentation: String? = nil, deprecation: String? = nil, isSecret: Bool = false) {
        self.documentation = documentation.map(Self.lines)
        self.deprecation = deprecation
        self.isSecret = isSecret
    }

    /// The text with newlines for the ends of lines of other systems. In Swift `\r\n` is one character, which is none
    /// of the newlines that texts are split at.
    private static func lines(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "\r")) else { return text }
        return String(text.map { $0 == "\r\n" || $0 == "\r" ? "\n" : $0 })
    }

    /// The first sentence of the documentation, where a tool has room for one: up to a point at the end of a line or
    /// with a space behind it, or an empty line.
    public var title: String? {
        guard let documentation else { return nil }
        var title = ""
        for line in documentation.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.isEmpty { break }
            if !title.isEmpty { title += " " }
            if let end = sentenceEnd(in: line) { return title + line[..<end] }
            title += line
        }
        return title.isEmpty ? nil : title
    }

    private func sentenceEnd(in line: Substring) -> Substring.Index? {
        line.indices.first { index in
            let next = line.index(after: index)
            return ".!?".contains(line[index]) && (next == line.endIndex || line[next] == " ")
        }.map { line.index(after: $0) }
    }

    var isEmpty: Bool { self == TypeWords() }

    /// These words, and where there are none, those of `other`.
    func over(_ other: TypeWords) -> TypeWords {
        TypeWords(
            documentation ?? other.documentation, deprecation: deprecation ?? other.deprecation,
            isSecret: isSecret || other.isSecret)
    }
}

extension CodableType {
    /// The words of a declared or registered type; none for any other.
    public var words: TypeWords { form.words }
}

extension CodableType.Form {
    /// The words of the declared type that this one is, or is an optional of.
    var words: TypeWords {
        switch self {
        case .structure(let structure): structure.words
        case .enumeration(let enumeration): enumeration.words
        case .variant(let variant): variant.words
        case .swift(let type): type.words
        case .optional(let wrapped), .defaulted(let wrapped, _): wrapped.words
        case .reference(let reference): (try? reference.resolved())?.words ?? TypeWords()
        case .scalar, .any, .array, .dictionary: TypeWords()
        }
    }

    /// The words of the type itself, of its fields and of its cases.
    private var allWords: [TypeWords] {
        switch self {
        case .structure(let structure): [words] + structure.fields.map(\.words)
        case .enumeration(let enumeration): [words] + enumeration.cases.map(\.words)
        case .variant(let variant): [words] + variant.cases.map(\.values.words)
        default: [words]
        }
    }

    /// Whether the type, equal to another, has words, and not the same ones.
    func saysMore(than other: CodableType.Form) -> Bool {
        let words = allWords
        return words != other.allWords && words.contains { !$0.isEmpty }
    }
}

extension StructureType.Field {
    /// The field's own words, and where it has none, those of its type.
    var shownWords: TypeWords { words.over(type.words) }
}
