import Foundation
import PropertyLists
import Testing

/// A row of `Tests/Vectors/formats.json`.
struct FormatVector: Decodable, Sendable, CustomTestStringConvertible {
    struct Failure: Decodable, Sendable {
        var code: String
        var offset: Int?
        var line: Int?
        var column: Int?
        var path: String?
    }

    var name: String
    var format: String
    var text: String?
    var hex: String?
    var tree: String?
    var error: Failure?

    var testDescription: String { "\(format): \(name)" }

    var bytes: [UInt8] {
        if let text { return Array(text.utf8) }
        let digits = Array(hex ?? "")
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }

    var known: PropertyListFormat? {
        PropertyListFormat.allCases.first { "\($0)".lowercased() == format.lowercased() }
    }
}

struct VectorFile<Row: Decodable>: Decodable {
    var rows: [Row]
}

/// The rows of a file in `Tests/Vectors`.
func vectors<Row: Decodable>(_ name: String, of type: Row.Type = Row.self) -> [Row] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = folder.appending(path: "Vectors/\(name).json")
    guard let data = try? Data(contentsOf: file),
        let rows = try? JSONDecoder().decode(VectorFile<Row>.self, from: data).rows
    else {
        Issue.record("Tests/Vectors/\(name).json cannot be read")
        return []
    }
    return rows
}

/// The rows of every format, and those that JSON has a file of its own for.
let formatVectors: [FormatVector] = vectors("formats") + vectors("json")

@Suite struct VectorTests {
    @Test("gives what the vectors say", arguments: formatVectors)
    func reads(_ vector: FormatVector) throws {
        let format = try #require(vector.known)
        do throws(PropertyListError) {
            let list = try PropertyList(parsing: vector.bytes, as: format)
            #expect(notation(list) == vector.tree)
        } catch {
            check(error, vector)
        }
    }

    @Test("comes to the same where the file is checked first", arguments: formatVectors)
    func readsChecked(_ vector: FormatVector) throws {
        let format = try #require(vector.known)
        var limits = PropertyListLimits()
        limits.uncheckedFile = 0
        var list: PropertyList?
        let checked = propertyListError {
            list = try PropertyList(parsing: vector.bytes, as: format, limits: limits)
        }
        #expect(checked == propertyListError { _ = try PropertyList(parsing: vector.bytes, as: format) })
        #expect(list.map(notation) == vector.tree)
    }

    private func check(_ found: PropertyListError, _ vector: FormatVector) {
        guard let expected = vector.error else {
            Issue.record("Expected \(vector.tree ?? ""), found: \(found)")
            return
        }
        #expect("\(found.code)" == expected.code, "\(found)")
        if let offset = expected.offset { #expect(found.location == .offset(offset), "\(found)") }
        if let line = expected.line, let column = expected.column {
            #expect(found.location == .line(line, column: column), "\(found)")
        }
        if let path = expected.path { #expect(found.path.description == path, "\(found)") }
        #expect(found.location != nil)
    }
}
