import Foundation
import KeyedArchives
import PropertyLists
import TestSupport
import Testing

/// The stack that suffices for the walks of the deepest tree; without optimisation frames are several times as large.
#if DEBUG
private let stackSize = 8 << 20
#else
private let stackSize = 1 << 20
#endif

/// A row of `Tests/Vectors/archives.json`.
struct ArchiveVector: Decodable, Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    var classNameKey: String?
    var tree: String?
    var error: VectorFailure?

    var testDescription: String { name }
}

@Suite struct KeyedArchiveTests {
    // proves: G79
    @Test(
        "flattens as the vectors say, from XML and from binary", arguments: vectors("archives", of: ArchiveVector.self))
    func flattens(_ vector: ArchiveVector) throws {
        let xml = try PropertyList(parsing: Array(vector.text.utf8))
        let binary = try PropertyList(parsing: try xml.serialized(as: .binary))
        for list in [xml, binary] {
            do throws(PropertyListError) {
                let tree = try list.unarchived(options: KeyedArchiveOptions(classNameKey: vector.classNameKey))
                #expect(notation(tree) == vector.tree)
                #expect(list.isKeyedArchive)
            } catch {
                #expect("\(error.code)" == vector.error?.code, "\(error)")
                if let path = vector.error?.path { #expect(error.path.description == path, "\(error)") }
            }
        }
    }

    @Test("says what is an archive and what is none")
    func detects() throws {
        func list(_ text: String) throws -> PropertyList { try PropertyList(parsing: Array(text.utf8), as: .json) }
        #expect(try list(#"{"$archiver": "x", "$top": {}}"#).isKeyedArchive)
        #expect(try list(#"{"$archiver": "x", "$objects": []}"#).isKeyedArchive)
        #expect(try list(##"{"": 1, "#": 2, "$archiver": "x", "$top": {}, "z": 3}"##).isKeyedArchive)
        #expect(try !list("{}").isKeyedArchive)
        #expect(try !list(#"{"$archiver": "x"}"#).isKeyedArchive)
        #expect(try !list(#"{"$archiver": 1, "$top": {}}"#).isKeyedArchive)
        #expect(try !list(#"["$archiver", "$top"]"#).isKeyedArchive)
    }

    @Test("keeps to the limits that it is given")
    func limits() throws {
        let vector = try #require(
            vectors("archives", of: ArchiveVector.self).first { $0.name == "an object that is shared" })
        let list = try PropertyList(parsing: Array(vector.text.utf8))
        // [[7], [7]] is five nodes.
        #expect(try list.unarchived(limits: PropertyListLimits(expandedNodes: 5)).count == 2)
        let error = propertyListError { _ = try list.unarchived(limits: PropertyListLimits(expandedNodes: 4)) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.path == [1])
        #expect(
            propertyListError { _ = try list.unarchived(limits: PropertyListLimits(depth: 1)) }?.code == .limitExceeded)
        #expect(try list.unarchived(limits: PropertyListLimits(depth: 2)).count == 2)
    }

    @Test(
        "an archive is counted as the tree that it becomes", arguments: vectors("archives", of: ArchiveVector.self))
    func counts(_ vector: ArchiveVector) throws {
        let list = try PropertyList(parsing: Array(vector.text.utf8))
        let options = KeyedArchiveOptions(classNameKey: vector.classNameKey)
        // Of an archive in data, each is counted by itself.
        guard !vector.text.contains("<data>"), let tree = try? list.unarchived(options: options) else { return }
        var limits = PropertyListLimits(
            expandedNodes: tree.document.nodeCount, expandedBytes: tree.document.byteCount)
        #expect(try list.unarchived(options: options, limits: limits) == tree)
        limits.expandedNodes = tree.document.nodeCount - 1
        let nodes = propertyListError { _ = try list.unarchived(options: options, limits: limits) }
        #expect(nodes?.message == "Shared objects grow to more than \(tree.document.nodeCount - 1) nodes")
        guard tree.document.byteCount > 0 else { return }
        limits.expandedNodes = tree.document.nodeCount
        limits.expandedBytes = tree.document.byteCount - 1
        let bytes = propertyListError { _ = try list.unarchived(options: options, limits: limits) }
        #expect(bytes?.message == "Shared objects grow to more than \(tree.document.byteCount - 1) bytes")
    }

    @Test("names the archiver of an archive that it cannot read")
    func archiver() throws {
        let list = try PropertyList(parsing: Array(#"{"$archiver": "RootArchiver", "$top": {}}"#.utf8))
        #expect(list.isKeyedArchive)
        let error = propertyListError { _ = try list.unarchived() }
        #expect(error?.description == #"Expected NSKeyedArchiver as $archiver, found "RootArchiver""#)
    }

    @Test("flattens the deepest archive there may be on a small stack")
    func archiveStack() async throws {
        #expect(try await deepest(Self.archive(PropertyListLimits.maximumDepth)) == PropertyListLimits.maximumDepth)
        #expect(try await deepest(Self.archive(PropertyListLimits.maximumDepth + 1)) == 0)
        #expect(try await deepest(Self.archive(100_000)) == 0)
    }

    /// How deep the flattened archive is; 0 where it is beyond the limit.
    private func deepest(_ archive: PropertyList) async -> Int {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                var levels = 0
                var inner = try? archive.unarchived(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
                while let list = inner {
                    levels += 1
                    inner = list["a"]
                }
                continuation.resume(returning: levels)
            }
            thread.stackSize = stackSize
            thread.start()
        }
    }

    /// An archive of objects inside one another.
    private static func archive(_ depth: Int) throws -> PropertyList {
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        try builder.key("$archiver")
        try builder.append(string: "NSKeyedArchiver")
        try builder.key("$version")
        try builder.append(integer: 100_000)
        try builder.key("$top")
        try builder.beginDictionary()
        try builder.key("root")
        try builder.append(uid: 1)
        try builder.end()
        try builder.key("$objects")
        try builder.beginArray()
        try builder.append(string: "$null")
        for level in 1..<depth {
            try builder.beginDictionary()
            try builder.key("a")
            try builder.append(uid: UInt32(level + 1))
            try builder.end()
        }
        try builder.beginDictionary()
        try builder.end()
        try builder.end()
        try builder.end()
        return try builder.finish()
    }

    @Test("reads what Foundation's archiver writes, typed values and all")
    func foundation() throws {
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: [
                "array": [1, 2.5, "x"] as [Any], "date": Date(timeIntervalSinceReferenceDate: 12.5),
                "url": try #require(URL(string: "https://example.org/x")), "data": Data([1, 2]),
                "uuid": try #require(UUID(uuidString: "71DC068E-3420-45FF-919E-3A267D55EC22")), "null": NSNull(),
            ] as NSDictionary, requiringSecureCoding: false)
        let list = try PropertyList(parsing: Array(data))
        #expect(list.isKeyedArchive)
        #expect(
            notation(try list.unarchived()) == """
                {"array": [1, real 2.5, "x"], "data": <0102>, "date": date 12.5, "null": null, \
                "url": "https://example.org/x", "uuid": "71DC068E-3420-45FF-919E-3A267D55EC22"}
                """)
    }
}
