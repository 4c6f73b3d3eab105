internal import KeyValueCoding
internal import PropertyLists

extension CodableType {
    /// The declaration of a declared struct or enum, and of a registered Swift type as far as its example shows it, in
    /// the type language; nil for types that are not declared, and for Swift types without an example.
    ///
    /// The text gives the same type when it is declared in another registry, with the same words for people.
    public var declaration: String? { form.declaration }

    /// The declarations of every type that this one is made of, and a line that says which of them is the root: the
    /// text that ``TypeRegistry/schema(_:)`` reads. Nil for a type that is not declared, and where a registered Swift
    /// type in it has no example.
    public var schemaText: String? {
        let types = DeclaredTypes(in: form)
        guard let root = form.resolved.declaredName, !types.areAmbiguous else { return nil }
        let declarations = types.entries.map(\.form.declaration)
        guard !declarations.contains(where: { $0 == nil }) else { return nil }
        return "root \(root)\n\n" + declarations.compactMap { $0 }.joined(separator: "\n\n") + "\n"
    }
}

extension CodableType.Form {
    var declaration: String? {
        switch self {
        case .structure(let structure): structure.declaration
        case .enumeration(let enumeration): enumeration.declaration
        case .variant(let variant): variant.declaration
        case .swift(let type): type.described?.declaration
        case .reference(let reference): (try? reference.resolved()).flatMap(\.declaration)
        default: nil
        }
    }

    /// The meaning of a name; any other type itself, and a name that no type has.
    var resolved: CodableType.Form {
        if case .reference(let reference) = self, let form = try? reference.resolved() { form } else { self }
    }
}

/// The declared types that a type is made of, each once, in the order in which they are met. A list rather than
/// recursion through structs, which long chains would exhaust.
struct DeclaredTypes {
    /// Types with names of their own: where a name got another meaning while types with the old one were in use, the
    /// second has a number behind it.
    private(set) var entries: [(name: String, form: CodableType.Form)] = []
    private var indexes: [String: [Int]] = [:]

    init(in form: CodableType.Form) {
        var next = 0
        note(form)
        while next < entries.count {
            for part in entries[next].form.declaredParts { note(part) }
            next += 1
        }
    }

    /// Whether a name has several meanings.
    fileprivate var areAmbiguous: Bool { indexes.values.contains { $0.count > 1 } }

    /// The name of a type that was met.
    func name(of form: CodableType.Form) -> String? {
        guard let name = form.declaredName else { return nil }
        return indexes[name]?.first { entries[$0].form == form }.map { entries[$0].name }
    }

    /// Recursion is bounded by the nesting of type expressions.
    private mutating func note(_ form: CodableType.Form) {
        switch form {
        case .array(let inner, _), .dictionary(let inner), .optional(let inner), .defaulted(let inner, _): note(inner)
        case .reference: if case .reference = form.resolved {} else { note(form.resolved) }
        case .structure, .enumeration, .variant, .swift:
            guard let name = form.declaredName, self.name(of: form) == nil else { return }
            let count = indexes[name, default: []].count
            indexes[name, default: []].append(entries.count)
            entries.append((count == 0 ? name : "\(name) \(count + 1)", form))
        case .scalar, .any: break
        }
    }
}

extension CodableType.Form {
    /// The types of a declared type's fields, or of its cases' values.
    fileprivate var declaredParts: [CodableType.Form] {
        switch self {
        case .structure(let structure): structure.fields.map(\.type)
        case .variant(let variant): variant.cases.flatMap { $0.values.fields.map(\.type) }
        case .swift(let type): type.described?.fields.map(\.type) ?? []
        default: []
        }
    }
}

extension TypeWords {
    /// The doc comment, a line for each of the documentation's.
    fileprivate func comment(_ indent: String = "") -> String {
        guard let documentation else { return "" }
        return documentation.split(separator: "\n", omittingEmptySubsequences: false)
            .map { indent + ($0.isEmpty ? "///" : "/// \($0)") + "\n" }.joined()
    }

    fileprivate var attributes: String {
        (deprecation.map { " @deprecated(\(quoted($0)))" } ?? "") + (isSecret ? " @secret" : "")
    }
}

extension StructureType {
    var declaration: String {
        let lines = fields.map { field in
            var line = "    \(quotedWord(field.name)): \(field.type)"
            if field.key != field.name { line += " @key(\(quotedWord(field.key)))" }
            if field.isTransient { line += " @transient" }
            if let value = field.defaultValue { line += " = \(value.literal)" }
            return field.words.comment("    ") + line + field.words.attributes + "\n"
        }
        return "\(words.comment())struct \(name)\(words.attributes) {\n\(lines.joined())}"
    }
}

extension EnumerationType {
    var declaration: String {
        let list = cases.map { one in
            let word = quotedWord(one.name)
            return (one.rawValue.string == one.name ? word : "\(word) = \(one.rawValue.literal)", one.words)
        }
        let head = "enum \(name): \(isInteger ? "Int" : "String")"
        return words.comment() + head + words.attributes + " " + caseList(list)
    }
}

extension VariantType {
    var declaration: String {
        let list = cases.map { one in
            let values = one.values.fields.enumerated().map { index, field in
                let label = field.name == VariantType.key(ofValue: index) ? "" : "\(quotedWord(field.name)): "
                return label + "\(field.type)" + (field.defaultValue.map { " = \($0.literal)" } ?? "")
            }
            let text = quotedWord(one.name) + (values.isEmpty ? "" : "(\(values.joined(separator: ", ")))")
            return (text, one.values.words)
        }
        return words.comment() + "enum \(name)" + words.attributes + " " + caseList(list)
    }
}

/// The cases of an enum on its line, or on lines of their own where one has words.
private func caseList(_ cases: [(text: String, words: TypeWords)]) -> String {
    guard cases.contains(where: { !$0.words.isEmpty }) else {
        return "{ \(cases.map(\.text).joined(separator: ", ")) }"
    }
    let lines = cases.map { $0.words.comment("    ") + "    \($0.text)\($0.words.attributes)\n" }
    return "{\n\(lines.joined())}"
}

/// A name as it stands in the type language: bare, or in quotes where it is no word.
private func quotedWord(_ name: String) -> String {
    TypeName.isWord(name) ? name : quoted(name)
}

private func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": result += "\\\""
        case "\\": result += "\\\\"
        case "\n": result += "\\n"
        case "\t": result += "\\t"
        case "\r": result += "\\r"
        case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += "\\u{\(String(scalar.value, radix: 16))}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

extension PropertyList {
    /// The value as a literal of the type language.
    var literal: String {
        var text = ""
        write(to: &text)
        return text
    }

    /// Appends to one text, so that deep values take no more time than flat ones. Recursion is bounded by the depth of
    /// documents.
    private func write(to text: inout String) {
        switch kind {
        case .null: text += "nil"
        case .boolean: text += boolean == true ? "true" : "false"
        case .integer: text += integer.map(String.init) ?? ""
        case .unsigned: text += unsigned.map { "\($0)" } ?? ""
        case .real: text += real?.description ?? ""
        case .date: text += "date(\(date?.description ?? ""))"
        case .uid: text += "uid(\(uid.map { "\($0)" } ?? ""))"
        case .string: text += quoted(string ?? "")
        case .data:
            let digits = (data ?? []).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            text += "data(\"\(digits.joined())\")"
        case .array:
            text += "["
            for (number, element) in elements.enumerated() {
                if number > 0 { text += ", " }
                element.write(to: &text)
            }
            text += "]"
        case .dictionary:
            text += count == 0 ? "[:" : "["
            for (number, entry) in entries.enumerated() {
                if number > 0 { text += ", " }
                text += quoted(entry.key) + ": "
                entry.value.write(to: &text)
            }
            text += "]"
        }
    }
}

// MARK: - Swift types

extension SwiftType {
    /// A struct with the keys that the example has or its decoding asked for; nil without an example that is a
    /// dictionary.
    ///
    /// A field's type is read off the example's value; a key that was asked for and is not in it gets `Any?`.
    var described: StructureType? {
        guard let example, example.kind == .dictionary else { return nil }
        let present = example.keys.lazy.map { PropertyListPath.Step.key($0) }
        let others = Self.texts((exampleKeys?.asked ?? []).subtracting(present)).sorted()
        let shown = example.entries.map { field($0.key, $0.value.shownType) }
        return try? StructureType(
            name: name, fields: shown + others.map { field($0, .optional(.any)) }, words: words)
    }

    private func field(_ key: String, _ type: CodableType.Form) -> StructureType.Field {
        StructureType.Field(
            name: names[key] ?? key, key: key, type: type, default: nil, isTransient: false,
            words: fieldWords[key] ?? TypeWords())
    }
}

extension PropertyList {
    /// The simplest type that the value is of.
    fileprivate var shownType: CodableType.Form {
        switch kind {
        case .boolean: .scalar(ScalarType(kind: .bool))
        case .integer: .scalar(ScalarType(kind: .int))
        case .unsigned: .scalar(ScalarType(kind: .uint64))
        case .real: .scalar(ScalarType(kind: .double))
        case .date: .scalar(ScalarType(kind: .date))
        case .uid: .scalar(ScalarType(kind: .uid))
        case .string: .scalar(ScalarType(kind: .string))
        case .data: .scalar(ScalarType(kind: .data))
        case .null: .any
        case .array: .array(elements.commonType, length: nil)
        case .dictionary: .dictionary(entries.lazy.map(\.value).commonType)
        }
    }
}

extension Sequence<PropertyList> {
    fileprivate var commonType: CodableType.Form {
        let types = map(\.shownType)
        guard let first = types.first, types.allSatisfy({ $0 == first }) else { return .any }
        return first
    }
}
