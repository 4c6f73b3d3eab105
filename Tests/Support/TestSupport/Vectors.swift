internal import Foundation

private struct VectorFile<Row: Decodable>: Decodable {
    var rows: [Row]
}

/// The rows of a file in `Tests/Vectors`.
public func vectors<Row: Decodable>(_ name: String, of type: Row.Type = Row.self) -> [Row] {
    let file = testsFolder.appending(path: "Vectors/\(name).json")
    guard let data = try? Data(contentsOf: file),
        let rows = try? JSONDecoder().decode(VectorFile<Row>.self, from: data).rows
    else { fatalError("Tests/Vectors/\(name).json cannot be read") }
    return rows
}

/// The error that a row of `Tests/Vectors` expects.
public struct VectorFailure: Decodable, Sendable {
    public var code: String
    public var offset: Int?
    public var line: Int?
    public var column: Int?
    public var path: String?
}
