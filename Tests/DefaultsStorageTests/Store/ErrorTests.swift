import Foundation
import PropertyLists
import Testing

@testable import DefaultsStorage

/// Errors about the store's file.
@Suite struct ErrorTests {
    @Test("an error without its file names the store for it")
    func withoutFile() {
        let error = DefaultsError(.io, "Read-only", at: ["ui"], file: "/home/me/a.sqlite", errno: 5)
        #expect(error.description == "Read-only at ui (/home/me/a.sqlite)")
        #expect(error.withoutFile().description == "Read-only at ui (the store)")
        #expect(error.withoutFile().errno == 5)
        let other = DefaultsError(.closed, "The store was closed / is over")
        #expect(other.withoutFile() == other)
    }

    @Test("the confidential end of a message is left out with the file")
    func confidential() {
        let error = DefaultsError(.io, "No database", confidential: ": unable to open /home/me/a.sqlite", at: ["ui"])
        #expect(error.message == "No database: unable to open /home/me/a.sqlite")
        #expect(error.withoutFile().message == "No database")
        var changed = error
        changed.message = "Later"
        #expect(changed.description == "Later at ui")
    }

    @Test("the error of a commit that may have been made says so before its text, and keeps the rest")
    func unknownOutcome() {
        let before = "The commit failed when it may have been made already: "
        let error = DefaultsError.system("fsync", EIO, file: "/a.plist").leavingOutcomeUnknown
        #expect(error.code == .outcomeUnknown && error.errno == EIO)
        #expect(error.description == before + "fsync: Input/output error (/a.plist)")
        let library = DefaultsError(.io, .expected("Int", found: "String"), confidential: ": no", at: ["a"])
        #expect(library.leavingOutcomeUnknown.description == before + "Expected Int at a, found String: no")
        #expect(library.leavingOutcomeUnknown.withoutFile().message == before + "Expected Int, found String")
    }

    @Test("a program's message is one piece, whatever it says; its expectation has the path behind it")
    func programs() {
        let whole = DefaultsError(.refused, "Expected 0...10, found 11; ask", at: ["volume"])
        #expect(whole.description == "Expected 0...10, found 11; ask at volume")
        let parts = DefaultsError(.refused, expected: "0...10", found: "11", at: ["volume"], file: "/a.plist")
        #expect(parts.description == "Expected 0...10 at volume, found 11 (/a.plist)")
        #expect(parts.message == "Expected 0...10, found 11" && parts.path == ["volume"])
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
        // A folder with the file's name: it cannot be read, and is left alone.
        let error = try #require(throws: DefaultsError.self) {
            _ = try DefaultsStore.open(path: "/tmp", options: options { $0.isReadOnly = true })
        }
        #expect(error.code == .io)
        #expect(error.file == "/tmp")
    }
}
