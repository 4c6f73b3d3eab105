import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// What errors say of the store's file.
@Suite struct ErrorTests {
    @Test(
        "an error without its file says neither file nor folder",
        arguments: [
            ("Read-only", "Read-only at ui (the store)"),
            ("SQLite: cannot open /home/me/a.sqlite.v0", "SQLite: cannot open the store.v0 at ui (the store)"),
            ("kept as /home/me/.a.old", "kept as the folder/.a.old at ui (the store)"),
        ])
    func withoutFile(message: String, expected: String) {
        let error = DefaultsError(.io, message, at: ["ui"], file: "/home/me/a.sqlite", errno: 5)
        #expect(error.withoutFile().description == expected)
        #expect(error.withoutFile().errno == 5)
        #expect(error.description.hasSuffix("(/home/me/a.sqlite)"))
    }

    @Test("an error about no file, and one about a file in the root folder, stay whole")
    func nearTheRoot() {
        let error = DefaultsError(.closed, "The store was closed / is over")
        #expect(error.withoutFile() == error)
        let atRoot = DefaultsError(.io, "read / write", file: "/a.plist")
        #expect(atRoot.withoutFile().description == "read / write (the store)")
    }

    @Test("what a schema says is a part of the error")
    func schemaErrors() throws {
        struct Wrong: DefaultsSchemaError {
            let path: PropertyListPath
            let detail: Int64?
            func message(firstIndex: Int) -> String { "wrong" }
        }
        let schema = DefaultsSchema { key, value in throw Wrong(path: [.key(key)], detail: value.integer) }
        let store = try DefaultsStore.open(
            "scratch",
            options: options {
                $0.engine = .memory
                $0.schema = schema
            })
        func failure(_ value: Int) -> DefaultsError? {
            #expect(throws: DefaultsError.self) { try store.set(list(value), at: ["a"]) }
        }
        let plain = DefaultsError(.typeMismatch, "wrong", at: ["a"])
        #expect(failure(1)?.message == plain.message)
        #expect(failure(1) == failure(1))
        #expect(failure(1) != failure(2))
        #expect(failure(1) != plain)
        #expect(Set([failure(1), failure(1), failure(2)]).count == 2)
    }

    @Test("a property list is not written where everybody could put another in its place")
    func openFolder() throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o777)
        let expected = DefaultsError(
            .unsafeLocation, "Everybody may write to the folder and rename its files", file: folder.path)
        #expect(throws: expected) { try PropertyListFile.write(list(1), to: folder.file, as: .xml) }
        #expect(try folder.names().isEmpty)
    }

    @Test("a file in the root folder has one slash before its name")
    func root() throws {
        // A folder in the file's place: it cannot be read, and is left alone.
        let error = try #require(throws: DefaultsError.self) {
            _ = try DefaultsStore.open(path: "/tmp", options: options { $0.isReadOnly = true })
        }
        #expect(error.code == .io)
        #expect(error.file == "/tmp")
    }
}
