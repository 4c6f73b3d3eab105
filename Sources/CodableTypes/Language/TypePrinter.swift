internal import KeyValueCoding
internal import PropertyLists

extension CodableType {
    /// The declaration of a declared struct or enum, and of a registered Swift type as far as its example shows it, in
    /// the type language; nil for types that are not declared, and for Swift types without an example.
    ///
    /// The text gives the same type when it is declared in another registry.
    public var declaration: String? {
        switch form {
        case .structure(let structure): structure.declaration
        case .enumeration(let enumeration): enumeration.declaration
        case .variant(let variant): variant.declaration
        case .swift(let type): type.described?.declaration
        case .reference(let reference): (try? reference.resolved()).flatMap { CodableType($0, in: table).declaration }
        default: nil
        }
    }
}

extension StructureType {
    var declaration: String {
        let lines = fields.map { field in
            var line = "    \(quotedWord(field.name)): \(field.type)"
            if field.key != field.name { line += " @key(\(quotedWord(field.key)))" }
            if field.isTransient { line += " @transient" }
            if let value = field.defaultValue { line += " = \(value.literal)" }
            return line + "\n"
        }
        return "struct \(name) {\n\(lines.joined())}"
    }
}

extension EnumerationType {
    var declaration: String {
        let list = cases.map { one in
            let word = quotedWord(one.name)
            return one.rawValue.string == one.name ? word : "\(word) = \(one.rawValue.literal)"
        }
        return "enum \(name): \(isInteger ? "Int" : "String") { \(list.joined(separator: ", ")) }"
    }
}

extension VariantType {
    var declaration: String {
        let list = cases.map { one in
            let values = one.values.fields.enumerated().map { index, field in
                let label = field.name == VariantType.key(ofValue: index) ? "" : "\(quotedWord(field.name)): "
                return label + "\(field.type)" + (field.defaultValue.map { " = \($0.literal)" } ?? "")
            }
            return quotedWord(one.name) + (values.isEmpty ? "" : "(\(values.joined(separator: ", ")))")
        }
        return "enum \(name) { \(list.joined(separator: ", ")) }"
    }
}

/// A name as it stands in the type language: bare, or in quotes where it is no word.
private func quotedWord(_ name: String) -> String {
    var scanner = TypeScanner(name)
    return (try? scanner.name("a name")) == name ? name : quoted(name)
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
        return try? StructureType(name: name, fields: shown + others.map { field($0, .optional(.any)) })
    }

    private func field(_ key: String, _ type: CodableType.Form) -> StructureType.Field {
        StructureType.Field(name: names[key] ?? key, key: key, type: type, default: nil, isTransient: false)
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
