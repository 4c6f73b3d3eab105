import Foundation
import KVCodable
import PropertyLists
import Testing

private struct Application: Codable, Equatable {
    var bundleIdentifier: String

    enum CodingKeys: String, CodingKey {
        case bundleIdentifier = "Bundle Identifier"
    }
}

/// Story 3: part of a preference file.
@Suite struct Story3PartOfAFileTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // proves: G27
    @Test("changes one key of a file that holds many, and nothing else")
    func change() throws {
        let path = try folder.copy(of: "com.example.launcher.plist")
        let before = try #require(try PropertyListFile.read(path)).list
        let store = try DefaultsStore.open(path: path)
        #expect(
            try store.decode([Application].self, forKey: "Target Applications")
                == ["org.example.editor", "org.example.browser"].map(Application.init))
        try store.update([Application].self, forKey: "Target Applications") {
            $0?[1].bundleIdentifier = "org.example.navigator"
        }
        try store.close()
        let setting: PropertyListPath = ["Target Applications", 1, "Bundle Identifier"]
        let expected = try before.setting(PropertyList(any: "org.example.navigator"), at: setting)
        #expect(try #require(try PropertyListFile.read(path)).list == expected)
    }

    @Test("an absent key is nil")
    func absent() throws {
        let store = try DefaultsStore.open(path: folder.copy(of: "com.example.launcher.plist"))
        #expect(try store.decode([Application].self, forKey: "No Such Key") == nil)
    }
}
