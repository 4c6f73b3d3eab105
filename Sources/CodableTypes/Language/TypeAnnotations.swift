internal import PropertyLists

extension TypeRegistry {
    /// Annotations of every named type for the Lua language server, so that editors complete fields and check values:
    /// the text of a file that begins with `---@meta`.
    ///
    /// Structs become classes, enums aliases of their raw values; a registered Swift type is described as far as its
    /// example shows it, and is `table` without one.
    public var annotations: String {
        let entries = table.allNamed.sorted { $0.key < $1.key }.map { name, form in annotation(name, form) }
        return (["---@meta\n"] + entries).joined(separator: "\n")
    }

    private func annotation(_ name: String, _ form: CodableType.Form) -> String {
        comment(form.words) + (form.words.deprecation == nil ? "" : "---@deprecated\n") + definition(name, form)
    }

    private func definition(_ name: String, _ form: CodableType.Form) -> String {
        switch form {
        case .structure(let structure): return definition(name, structure)
        case .enumeration(let enumeration):
            return alias(name, enumeration.cases.map { ($0.rawValue.literal, $0.words) })
        case .variant(let variant): return alias(name, variant.cases.map { (shape(of: $0), $0.values.words) })
        case .swift(let type):
            return type.described.map { definition(name, $0) } ?? "---@alias \(name) table\n"
        default: return "---@alias \(name) \(form.luaName)\n"
        }
    }

    /// The choices on one line, or on lines of their own where one has words.
    private func alias(_ name: String, _ choices: [(text: String, words: TypeWords)]) -> String {
        guard choices.contains(where: { !$0.words.isEmpty }) else {
            return "---@alias \(name) \(choices.map(\.text).joined(separator: "|"))\n"
        }
        let lines = choices.map { choice in
            let notes = [choice.words.title.map(line)] + [choice.words.deprecation.map { "deprecated: \(line($0))" }]
            let text = notes.compactMap { $0 }.joined(separator: "; ")
            return "---| \(choice.text)\(text.isEmpty ? "" : " # \(text)")\n"
        }
        return "---@alias \(name)\n" + lines.joined()
    }

    private func definition(_ name: String, _ structure: StructureType) -> String {
        let fields = structure.fields.map { field in
            let mark = field.mayBeAbsent ? "?" : ""
            let type = field.isOptional ? field.type.wrapped : field.type
            return comment(field.words) + "---@field \(luaKey(field.name))\(mark) \(type.luaName)\(note(of: field))\n"
        }
        return "---@class (exact) \(name)\n" + fields.joined()
    }

    /// The documentation as comments that the language server shows. A line that begins with `@` or `|` would be an
    /// annotation: every line has a space in front.
    private func comment(_ words: TypeWords) -> String {
        guard let documentation = words.documentation else { return "" }
        return documentation.split(separator: "\n", omittingEmptySubsequences: false)
            .map { "--- \(line(String($0)))\n" }.joined()
    }

    /// The text without the characters that would end its line.
    private func line(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 ? " " : $0 }))
    }

    /// A case as a table with one field.
    private func shape(of one: VariantType.Case) -> String {
        let values = one.values.fields.map { field in
            let type = field.isOptional ? field.type.wrapped : field.type
            return "\(luaKey(field.name))\(field.mayBeAbsent ? "?" : ""): \(type.luaName)"
        }
        return "{ \(luaKey(one.name)): \(values.isEmpty ? "{}" : "{ \(values.joined(separator: ", ")) }") }"
    }

    private func note(of field: StructureType.Field) -> String {
        var notes: [String] = []
        if !field.words.isSecret, let value = field.defaultValue.flatMap(field.type.shown) {
            notes.append("default \(value.shortLiteral)")
        }
        if field.isTransient { notes.append("never stored") }
        if let deprecation = field.words.deprecation { notes.append("deprecated: \(line(deprecation))") }
        if field.shownWords.isSecret { notes.append("secret") }
        if case .scalar(let scalar) = field.type, scalar.range != nil || scalar.length != nil {
            notes.append("\(scalar)")
        }
        return notes.isEmpty ? "" : " " + notes.joined(separator: "; ")
    }

    /// A field's name, in brackets where it is no word of Lua.
    private func luaKey(_ name: String) -> String {
        let isWord =
            !name.isEmpty
            && name.utf8.allSatisfy { byte in
                byte == UInt8(ascii: "_") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            }
        return isWord && name.first?.isNumber == false ? name : "[\(luaQuoted(name))]"
    }
}

/// A text as Lua writes it.
private func luaQuoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": result += "\\\(scalar)"
        case _ where scalar.value < 0x20:
            result += "\\x" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

extension CodableType.Form {
    fileprivate var wrapped: CodableType.Form {
        if case .optional(let wrapped) = self { wrapped } else { self }
    }

    /// The type as the Lua language server knows it.
    fileprivate var luaName: String {
        switch self {
        case .scalar(let scalar): scalar.kind.luaName
        case .any: "any"
        case .array(let element, _): element.isOptional ? "(\(element.luaName))[]" : "\(element.luaName)[]"
        case .dictionary(let value): "table<string, \(value.luaName)>"
        case .optional(let wrapped): "\(wrapped.luaName)|nil"
        case .defaulted(let wrapped, _): wrapped.luaName
        case .structure(let structure): structure.name
        case .enumeration(let enumeration): enumeration.name
        case .variant(let variant): variant.name
        case .swift(let type): type.name
        case .reference(let reference): reference.name
        }
    }
}

extension ScalarType.Kind {
    fileprivate var luaName: String {
        switch self {
        case .bool: "boolean"
        case .float, .double: "number"
        case .string, .decimal, .url, .uuid: "string"
        case .data: "kvcodable.data"
        case .date: "kvcodable.date"
        case .uid: "kvcodable.uid"
        case .duration: "integer[]"
        case .uint64, .uint, .uint128, .int128: "integer|kvcodable.uint64"
        default: "integer"
        }
    }
}
