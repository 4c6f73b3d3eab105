internal import PropertyLists

extension CodableType {
    /// A page in Markdown of all settings that a struct describes: a table of each one's path, type, default and
    /// meaning, and the cases of the enums.
    ///
    /// ```swift
    /// let settings = try TypeRegistry().declare("struct Settings { /// How loud.\n volume: Int(0...10) = 7 }")[0]
    /// print(settings.referencePage(title: "com.acme.player"))
    /// ```
    ///
    /// - Parameter title: the heading, such as the store's name.
    public func referencePage(title: String) -> String {
        var page = ReferencePage(text: "# \(title)\n")
        page.add(words)
        page.addSettings(of: self)
        page.addEnums(DeclaredTypes(in: form).entries.map { CodableType($0.form, in: table) })
        return page.text
    }
}

private struct ReferencePage {
    private(set) var text: String
    private var rows = 0

    init(text: String) { self.text = text }

    /// A struct may hold another twice, and that one another twice: a page has an end.
    private static let mostRows = 5_000

    mutating func add(_ words: TypeWords) {
        if let documentation = words.documentation { text += "\n\(documentation)\n" }
        if let deprecation = words.deprecation { text += "\nDeprecated: \(deprecation)\n" }
    }

    mutating func addSettings(of type: CodableType) {
        text += "\n| setting | type | default | meaning |\n|---|---|---|---|\n"
        add(type, path: "", inside: [])
        if rows >= Self.mostRows { text += "\nOnly the first \(Self.mostRows) settings are shown.\n" }
    }

    /// Recursion is bounded: a struct inside itself is not gone into.
    private mutating func add(_ type: CodableType, path: String, inside outer: [String]) {
        let core = type.wrapped
        let name = core.description
        if let element = core.element, core.members.isEmpty {
            return add(element, path: path + (core.isArray ? "[]" : path.isEmpty ? "*" : ".*"), inside: outer)
        }
        guard !core.members.isEmpty, !outer.contains(name), outer.count < 32, rows < Self.mostRows else { return }
        for member in core.members {
            let inner = path + (path.isEmpty ? "" : ".") + PropertyListPath([.key(member.key)]).text
            addRow(inner, member)
            add(member.type, path: inner, inside: outer + [name])
        }
    }

    private mutating func addRow(_ path: String, _ member: CodableType.Member) {
        guard rows < Self.mostRows else { return }
        rows += 1
        var notes: [String] = []
        if let documentation = member.words.documentation { notes.append(documentation) }
        if let deprecation = member.words.deprecation { notes.append("Deprecated: \(deprecation).") }
        if member.words.isSecret {
            notes.append("Secret: the file holds it as it is, and a keyring is the better place.")
        }
        let value = member.shownDefault.map { "`\($0.shortLiteral)`" } ?? ""
        let cells = ["`\(path)`", "`\(member.type)`", value, notes.joined(separator: " ")]
        text += "| " + cells.map(cell).joined(separator: " | ") + " |\n"
    }

    private func cell(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "|": result += "\\|"
            case _ where character.value < 0x20: result += " "
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    mutating func addEnums(_ types: [CodableType]) {
        for type in types where !type.cases.isEmpty {
            text += "\n## \(type)\n"
            add(type.words)
            text += "\n| value | meaning |\n|---|---|\n"
            for one in type.cases {
                let values = one.members.map { "\($0.key): \($0.type)" }.joined(separator: ", ")
                let value = one.rawValue?.literal ?? one.name + (values.isEmpty ? "" : "(\(values))")
                let notes = [one.words.documentation, one.words.deprecation.map { "Deprecated: \($0)." }]
                text += "| `\(cell(value))` | \(cell(notes.compactMap { $0 }.joined(separator: " "))) |\n"
            }
        }
    }
}

extension CodableType {
    fileprivate var isArray: Bool { if case .array = form { true } else { false } }
}

extension PropertyList {
    /// The value as a line has room for it: defaults hold one another, and may be large.
    var shortLiteral: String {
        size.nodes <= 64 && size.text <= 1000 ? literal : "\(self)"
    }
}
