internal import Foundation
public import PropertyLists

/// A tree as one line of text, the notation of `Tests/Vectors/README.md`.
public func notation(_ list: PropertyList) -> String {
    switch list.kind {
    case .null: "null"
    case .boolean: list.boolean == true ? "true" : "false"
    case .integer: "\(list.integer ?? 0)"
    case .unsigned: "\(list.unsigned ?? 0)u"
    case .real: "real " + decimal(list.real ?? 0)
    case .date: "date " + decimal(list.date ?? 0)
    case .uid: "uid \(list.uid ?? 0)"
    case .string: quoted(list.string ?? "")
    case .data: "<" + (list.data ?? []).map { String(format: "%02x", $0) }.joined() + ">"
    case .array: "[" + list.elements.map(notation).joined(separator: ", ") + "]"
    case .dictionary:
        "{" + list.entries.map { quoted($0.key) + ": " + notation($0.value) }.joined(separator: ", ") + "}"
    }
}

public func decimal(_ value: Double) -> String {
    value.isNaN ? "nan" : String(format: "%.17g", value)
}

public func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": result += "\\" + String(scalar)
        case "\u{0}"..."\u{1F}", "\u{7F}": result += String(format: "\\u%04x", scalar.value)
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

/// The error that a closure throws; nil when it throws none.
public func propertyListError(_ body: () throws -> Void) -> PropertyListError? {
    do {
        try body()
        return nil
    } catch {
        return error as? PropertyListError
    }
}
