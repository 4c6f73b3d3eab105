import Foundation
import KVCodable
import KeyValueCoding
import PropertyLists
import Testing

/// A folder of a test's own, gone with the last reference.
final class TemporaryFolder: Sendable {
    let path = NSTemporaryDirectory() + "kvcodable-story-" + UUID().uuidString

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    /// A copy of a file of Tests/Data.
    func copy(of name: String) throws -> String {
        let data = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../Data/" + name)
        try FileManager.default.copyItem(atPath: data.path, toPath: file(name))
        return file(name)
    }
}

func memoryStore() throws -> DefaultsStore {
    var options = DefaultsStore.Options()
    options.engine = .memory
    return try DefaultsStore.open(path: "story.plist", options: options)
}

/// A whole file as a value; nil where there is none.
func read<Value: Decodable>(_ type: Value.Type, from path: String) throws -> Value? {
    try PropertyListFile.read(path).map { try KeyValueDecoder().decode(type, from: $0.list) }
}

/// A value as a whole file.
func write(_ value: some Encodable, to path: String) throws {
    let list = try #require(try KeyValueEncoder().encodeToPropertyList(value))
    try PropertyListFile.write(list, to: path, as: .xml)
}
