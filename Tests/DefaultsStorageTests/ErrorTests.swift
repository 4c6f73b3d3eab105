import DefaultsStorage
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
