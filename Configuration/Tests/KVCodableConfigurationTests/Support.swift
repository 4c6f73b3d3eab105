import Configuration
import Foundation
import KVCodable

/// A folder of a test's own, which goes with it.
final class Folder: Sendable {
    let path: String

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("provider-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    /// Replaces a file, as a program that knows nothing of the library does.
    func write(_ name: String, _ values: [String: Any]) throws {
        let data = try PropertyListSerialization.data(fromPropertyList: values, format: .xml, options: 0)
        try data.write(to: URL(fileURLWithPath: file(name)), options: .atomic)
    }
}

/// The schema of a text of the type language.
func schema(_ text: String) throws -> DefaultsSchema {
    try DefaultsSchema(try TypeRegistry().schema(text))
}

/// A store without a file.
func memoryStore(_ text: String? = nil) throws -> DefaultsStore {
    var options = DefaultsStore.Options()
    options.engine = .memory
    options.schema = try text.map(schema)
    return try DefaultsStore.open("scratch", options: options)
}

/// The words of an error; nil where there is none.
func words(of body: () throws -> LookupResult) -> String? {
    do {
        _ = try body()
        return nil
    } catch {
        return "\(error)"
    }
}
