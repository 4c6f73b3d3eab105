public import Foundation

/// The folder of the tests of all rooms.
public let testsFolder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

/// The files of the corpus that KVCODABLE_CORPUS names; the tests that need it skip without, and say so.
public enum Corpus {
    public static let folder = ProcessInfo.processInfo.environment["KVCODABLE_CORPUS"].map { URL(filePath: $0) }

    public static let isAbsent: Bool = {
        if folder == nil { print("Skipped: KVCODABLE_CORPUS is not set, so the files of the corpus are not tested.") }
        return folder == nil
    }()

    public struct File: CustomStringConvertible, Sendable {
        public let name: String
        public let bytes: [UInt8]

        public var description: String { name }
    }

    /// The files of a folder of the corpus, with their names inside it, sorted.
    public static func files(in part: String) -> [File] {
        guard let root = folder?.appending(path: part),
            let names = FileManager.default.enumerator(atPath: root.path)
        else { return [] }
        return names.compactMap { $0 as? String }.sorted().compactMap { name in
            var isFolder = ObjCBool(false)
            let path = root.appending(path: name).path
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
                return nil
            }
            return FileManager.default.contents(atPath: path).map { File(name: part + "/" + name, bytes: Array($0)) }
        }
    }
}
