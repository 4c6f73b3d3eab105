import Foundation
import KVCodable
import Testing

@Suite(.serialized) struct PublishedTypesTests {
    /// Runs `body` with data folders of its own: the user's, and one of packages.
    private func withDataFolders(_ body: (_ user: String, _ package: String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kvdata-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (user, package) = ("\(folder)/user", "\(folder)/package")
        for path in [user, "\(package)/kvcodable/types"] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        setenv("XDG_DATA_HOME", user, 1)
        setenv("XDG_DATA_DIRS", "\(folder)/none:\(package)", 1)
        defer {
            unsetenv("XDG_DATA_HOME")
            unsetenv("XDG_DATA_DIRS")
        }
        try body(user, package)
    }

    @Test("a type is published as NAME.kvtypes in the user's data folder, which counts before a package's")
    func published() throws {
        try withDataFolders { user, package in
            let text = "root Settings\n\nstruct Settings {\n    volume: Int(0...10) = 7\n}\n"
            try Data(text.replacing("7", with: "3").utf8).write(
                to: URL(fileURLWithPath: "\(package)/kvcodable/types/com.acme.player.kvtypes"))
            #expect(try PublishedTypes.names() == ["com.acme.player"])
            let installed = try #require(try PublishedTypes.type(of: "com.acme.player"))
            #expect(installed.schemaText == text.replacing("7", with: "3"))
            let settings = try TypeRegistry().declare("struct Settings { volume: Int(0...10) = 7 }")[0]
            let file = try PublishedTypes.publish(settings, for: "com.acme.player")
            #expect(file == "\(user)/kvcodable/types/com.acme.player.kvtypes")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
            #expect(try PublishedTypes.type(of: "com.acme.player")?.schemaText == text)
            try PublishedTypes.publish(settings, for: "acme/mixer")
            #expect(try PublishedTypes.names() == ["acme/mixer", "com.acme.player"])
            #expect(try PublishedTypes.type(of: "acme/none") == nil)
        }
    }

    @Test("a text that cannot be written is an error, whatever stands in its way")
    func unwritable() throws {
        try withDataFolders { user, _ in
            let settings = try TypeRegistry().declare("struct Settings { volume: Int }")[0]
            try Data().write(to: URL(fileURLWithPath: "\(user)/kvcodable"))
            #expect(throws: DefaultsError.self) { try PublishedTypes.publish(settings, for: "player") }
            try FileManager.default.removeItem(atPath: "\(user)/kvcodable")
            try FileManager.default.createDirectory(
                atPath: "\(user)/kvcodable/types/player.kvtypes", withIntermediateDirectories: true)
            #expect(throws: DefaultsError.self) { try PublishedTypes.publish(settings, for: "player") }
        }
    }

    @Test("what is wrong in a published text is told with its file, line and column")
    func wrong() throws {
        try withDataFolders { user, _ in
            let settings = try TypeRegistry().declare("struct Settings { volume: Int }")[0]
            let file = try PublishedTypes.publish(settings, for: "player")
            try Data("root Settings\nstruct Settings { volume: Loud }\n".utf8).write(to: URL(fileURLWithPath: file))
            let error = #expect(throws: TypeError.self) { try PublishedTypes.type(of: "player") }
            #expect(error?.description == "No type is named Loud (line 2, column 27) (\(file))")
            #expect(error?.file == file)
            let list = try TypeRegistry().type("[Int]")
            let misuse = #expect(throws: DefaultsError.self) { try PublishedTypes.publish(list, for: "player") }
            #expect(misuse?.description == "Expected a declared type to publish, found [Int]")
        }
    }
}
