import DefaultsStorage
import Foundation
import PropertyLists
import Testing

@Suite struct ChangeTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func memory(_ format: PropertyListFormat = .xml) throws -> DefaultsStore {
        try DefaultsStore.open(
            "scratch",
            options: options {
                $0.engine = .memory
                $0.format = format
            })
    }

    /// The same value in a document that was checked, and knows its facts.
    private func checked(_ list: PropertyList) throws -> PropertyList {
        let document = list.document
        return try PropertyList(
            validating: UnsafeBufferPointer(start: document.nodes, count: document.nodeCount),
            bytes: UnsafeRawBufferPointer(start: document.bytes, count: document.byteCount))
    }

    // proves: G44
    @Test("refuses what the file could not hold, with its place", arguments: DefaultsStore.Options.Engine.tested)
    func unfit(engine: DefaultsStore.Options.Engine) throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"), options: options { $0.engine = engine })
        let cases: [(Any, PropertyListPath, ErrorWords)] = [
            (Any?.none as Any, ["a"], .wrong("A file cannot hold nil", advice: "remove the key instead")),
            (
                ["x": [1, Any?.none as Any]], ["a", "x", 1],
                .wrong("A file cannot hold nil", advice: "remove the key instead")
            ),
            (
                ["x": "\u{1}"], ["a", "x"],
                .wrong("XML cannot hold a control character in a string", advice: "a binary store can")
            ),
            (
                ["x\u{2}": 1], ["a", "x\u{2}"],
                .wrong("XML cannot hold a control character in a key", advice: "a binary store can")
            ),
            (
                // Of several the first in the order of the keys.
                ["y": Any?.none as Any, "x": [["CF$UID": 3], "\u{1}"]], ["a", "x", 0],
                "A dictionary of nothing but an integer CF$UID would be read back as a UID"
            ),
            (["CF$UID": 3], ["a"], "A dictionary of nothing but an integer CF$UID would be read back as a UID"),
        ]
        for (value, path, message) in cases {
            let expected = DefaultsError(.invalidValue, message, at: path)
            #expect(throws: expected) { try store.set(list(value), at: ["a"]) }
            #expect(throws: expected) { try store.set(checked(list(value)), at: ["a"]) }
        }
        #expect(try store.keys().isEmpty)
        try store.set(list(["b": 1]), at: ["a"])
        try store.set(list(3), at: ["a", "CF$UID"])
        #expect(throws: DefaultsError.self) { try store.remove(at: ["a", "b"]) }
        #expect(throws: DefaultsError.self) { try store.set(list(3), at: ["new", "CF$UID"]) }
        #expect(throws: DefaultsError.self) { try store.set(list(3), at: ["CF$UID"]) }
        try store.sync()
    }

    @Test("an integer CF$UID never stands alone in a dictionary, however that came about")
    func marks() throws {
        let store = try memory()
        let expected = DefaultsError(
            .invalidValue, "A dictionary of nothing but an integer CF$UID would be read back as a UID", at: ["a"])
        try store.set(list([String: Int]()), at: ["a"])
        #expect(throws: expected) { try store.set(list(3), at: ["a", "CF$UID"]) }
        try store.set(list("text"), at: ["a", "CF$UID"])
        #expect(throws: expected) { try store.set(list(3), at: ["a", "CF$UID"]) }
        try store.set(list(["b": 1, "c": 1]), at: ["a"])
        try store.set(list(3), at: ["a", "CF$UID"])
        #expect(try store.remove(at: ["a", "b"]))
        #expect(throws: expected) { try store.remove(at: ["a", "c"]) }
        #expect(try store.value(at: ["a"]) == list(["c": 1, "CF$UID": 3]))
        #expect(try store.remove(at: ["a", "CF$UID"]))
        #expect(try store.remove(at: ["a", "c"]))
        #expect(throws: expected) { try store.set(list(3), at: ["a", "CF$UID"]) }
    }

    // proves: G44
    @Test("refuses what a format cannot hold, wherever it stands, and takes what it can")
    func formats() throws {
        let control = ErrorWords.wrong("XML cannot hold a control character in a string", advice: "a binary store can")
        let cases: [(PropertyListFormat, Any, ErrorWords?)] = [
            (.xml, "\u{FFFE}", control), (.xml, "x\u{FFFF}y", control), (.xml, "\u{B}", control),
            (.xml, "\u{FFFD}\u{FB00}\u{F000}\t\r\n ", nil), (.binary, "\u{FFFE}\u{1}", nil),
            (.json, "\u{FFFE}\u{1}", nil),
            (.json, Data([1]), "JSON cannot hold Data"), (.xml, Data([1]), nil), (.binary, Data([1]), nil),
            (.json, Double.infinity, "JSON cannot hold inf"), (.json, 0.5, nil), (.xml, Double.infinity, nil),
            (.json, Date(timeIntervalSinceReferenceDate: 0), "JSON cannot hold Date"),
            (.xml, Date(timeIntervalSinceReferenceDate: 252_423_993_599), nil),
            (
                .binary, Date(timeIntervalSinceReferenceDate: 252_423_993_600),
                .expected("a date of the years 1 to 9999", found: "252423993600.0 seconds from 2001")
            ),
            (.xml, Date(timeIntervalSinceReferenceDate: -63_113_904_000), nil),
            (
                .xml, Date(timeIntervalSinceReferenceDate: -63_113_904_001),
                .expected("a date of the years 1 to 9999", found: "-63113904001.0 seconds from 2001")
            ),
        ]
        for (format, value, message) in cases {
            let store = try memory(format)
            let contents: [(Any, PropertyListPath)] = [
                (value, ["a"]), ([1, value], ["a", 1]), (["x": [value]], ["a", "x", 0]),
            ]
            for (content, path) in contents {
                guard let message else {
                    try store.set(list(content), at: ["a"])
                    try store.set(checked(list(content)), at: ["b"])
                    #expect(try store.snapshot() == list(["a": content, "b": content]))
                    continue
                }
                let expected = DefaultsError(.invalidValue, message, at: path)
                #expect(throws: expected, "\(format)") { try store.set(list(content), at: ["a"]) }
                #expect(throws: expected, "\(format)") { try store.set(checked(list(content)), at: ["a"]) }
            }
        }
    }

    @Test("refuses a key that XML cannot hold, at every depth")
    func keys() throws {
        let message = ErrorWords.wrong("XML cannot hold a control character in a key", advice: "a binary store can")
        let store = try memory()
        for key in ["\u{1}", "x\u{FFFF}"] {
            let expected = DefaultsError(.invalidValue, message, at: [.key(key)])
            #expect(throws: expected) { try store.set(list(1), at: [.key(key)]) }
            #expect(throws: expected) { try store.set(list(1), at: [.key(key), "x"]) }
            let inside = DefaultsError(.invalidValue, message, at: ["a", .key(key)])
            #expect(throws: inside) { try store.set(list(1), at: ["a", .key(key)]) }
            #expect(throws: inside) { try store.set(list(1), at: ["a", .key(key), "x"]) }
            try memory(.binary).set(list(1), at: ["a", .key(key)])
        }
        #expect(try store.keys().isEmpty)
    }

    @Test("a schema looks again at a change inside a value that another handle has changed meanwhile")
    func schemaMeanwhile() throws {
        struct TooMuch: Error, CustomStringConvertible { let description = "more than 10" }
        let other = try folder.open(.manual)
        try other.set(list(["x": 0, "y": 0]), at: ["a"])
        let looks = Box(0)
        let schema = DefaultsSchema { _, value in
            looks.change { $0 += 1 }
            if looks.value == 1 { try other.set(list(9), at: ["a", "y"]) }
            if (value["x"]?.integer ?? 0) + (value["y"]?.integer ?? 0) > 10 { throw TooMuch() }
        }
        let store = try DefaultsStore.open(path: folder.file, options: options { $0.schema = schema })
        #expect(throws: DefaultsError(.refused, "more than 10", at: ["a"])) { try store.set(list(9), at: ["a", "x"]) }
        #expect(looks.value == 2)
        #expect(try store.value(at: ["a"]) == list(["x": 0, "y": 9]))
    }

    // proves: G44
    @Test("counts the depth from the root")
    func depth() throws {
        let store = try memory()
        var value: Any = 1
        for _ in 0..<510 { value = [value] }
        try store.set(list(value), at: ["a", "b"])
        #expect(throws: DefaultsError(.limitExceeded, "Deeper than 512 levels", at: ["a", "b", "c"])) {
            try store.set(list(value), at: ["a", "b", "c"])
        }
    }

    // proves: G38
    @Test("a path that does not fit is an error, and changes nothing")
    func mismatch() throws {
        let store = try memory()
        try store.set(list(["n": 1, "list": [1, 2]]), at: ["a"])
        let cases: [(PropertyListPath, PropertyListPath, ErrorWords)] = [
            (["a", "n", "x"], ["a", "n"], .expected("Dictionary", found: "Int")),
            (["a", "list", "x"], ["a", "list"], .expected("Dictionary", found: "Array")),
            (
                ["a", "list", 3], ["a", "list", 3],
                .expected("an element of the array or the place behind the last", found: "none")
            ),
            (["a", 0], ["a"], .expected("Array", found: "Dictionary")),
            (
                ["a", "new", 0], ["a", "new"],
                .expected("Array", found: "nothing: a missing array is not made by its index")
            ),
        ]
        for (path, fault, message) in cases {
            #expect(throws: DefaultsError(.pathMismatch, message, at: fault)) { try store.set(list(1), at: path) }
        }
        #expect(try store.snapshot() == list(["a": ["n": 1, "list": [1, 2]]]))
        try store.set(list(3), at: ["a", "list", 2])
        #expect(try store.value(at: ["a", "list"]) == list([1, 2, 3]))
    }

    // proves: G10
    @Test("sets only at the generation that was named")
    func compareAndSet() throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        let generation = store.generation
        try store.set(list(1), at: ["a"], ifGeneration: generation)
        let now = store.generation
        let expected = DefaultsError(
            .conflict, expected: "generation \(generation)", found: "\(now)", at: ["a"], file: folder.file("a.plist"))
        #expect(throws: expected) { try store.set(list(2), at: ["a"], ifGeneration: generation) }
        try Data(list(["a": 5]).serialized(as: .xml)).write(to: URL(fileURLWithPath: folder.file("a.plist")))
        #expect(throws: DefaultsError.self) { try store.set(list(2), at: ["a"], ifGeneration: now) }
        #expect(try store.value(at: ["a"])?.integer == 5)
    }

    @Test("tells the program's check of each change, and takes its no for one")
    func validation() throws {
        struct No: Error, CustomStringConvertible { let description = "not that" }
        let store = try DefaultsStore.open(
            "scratch",
            options: options {
                $0.engine = .memory
                $0.validation = { path, value in if path == ["a"], value?.integer == 2 { throw No() } }
            })
        try store.set(list(1), at: ["a"])
        #expect(throws: DefaultsError(.refused, "not that", at: ["a"])) { try store.set(list(2), at: ["a"]) }
        #expect(try store.value(at: ["a"])?.integer == 1)
    }

    @Test("a closed handle says so, and closing twice is fine; other handles go on")
    func closing() throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        let other = try DefaultsStore.open(path: folder.file("a.plist"))
        try store.set(list(1), at: ["a"])
        try store.close()
        try store.close()
        #expect(throws: DefaultsError(.closed, "The store was closed")) { try store.value(at: ["a"]) }
        #expect(throws: DefaultsError(.closed, "The store was closed")) { try store.set(list(1), at: ["a"]) }
        #expect(throws: DefaultsError(.closed, "The store was closed")) { try store.sync() }
        #expect(throws: DefaultsError(.closed, "The store was closed")) { try store.isForced("a") }
        #expect(throws: DefaultsError(.closed, "The store was closed")) { try store.dictionary(of: .registered) }
        #expect(throws: DefaultsError(.closed, "The store was closed")) { try store.import(Array("{}".utf8)) }
        #expect(try other.value(at: ["a"])?.integer == 1)
    }

    @Test("a handle that was closed lets go of its watches and their descriptors")
    func closingWatched() throws {
        final class Watcher: Sendable {}
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        var watcher: Watcher? = Watcher()
        weak let last = watcher
        do {
            let watch = try store.watch(.everything) { [watcher] _ in _ = watcher }
            watcher = nil
            #expect(last != nil)
            #expect(try folder.openNames().contains("inotify"))
            try store.close()
            #expect(last == nil)
            watch.cancel()
        }
        #expect(try !folder.openNames().contains("inotify"))
        withExtendedLifetime(store) {}
    }

    // proves: G8
    @Test("a nested transaction that is rolled back takes back its own changes alone")
    func nestedRollback() throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        let outer = try store.beginTransaction()
        try outer.set(list(1), at: ["a"])
        try outer.set(list(["x": 1]), at: ["b"])
        let inner = try store.beginTransaction()
        try inner.set(list(2), at: ["a"])
        try inner.set(list(2), at: ["b", "x"])
        try inner.set(list(2), at: ["c"])
        let innermost = try store.beginTransaction()
        try innermost.remove(at: ["b"])
        innermost.rollback()
        #expect(try store.snapshot() == list(["a": 2, "b": ["x": 2], "c": 2]))
        inner.rollback()
        #expect(throws: DefaultsError(.closed, "The transaction has ended")) { try inner.value(at: ["a"]) }
        #expect(try store.snapshot() == list(["a": 1, "b": ["x": 1]]))
        try outer.commit()
        #expect(try folder.stored() == list(["a": 1, "b": ["x": 1]]))
    }

    @Test("a transaction ends with those inside it, and is not committed before them")
    func nestedEnds() throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        let outer = try store.beginTransaction()
        try outer.set(list(1), at: ["a"])
        let middle = try store.beginTransaction()
        try middle.set(list(2), at: ["a"])
        let inner = try store.beginTransaction()
        try inner.set(list(3), at: ["a"])
        let early = DefaultsError(.misuse, "A transaction inside this one has not ended")
        #expect(throws: early) { try outer.commit() }
        middle.rollback()
        #expect(throws: DefaultsError(.closed, "The transaction has ended")) { try inner.commit() }
        #expect(try store.value(at: ["a"])?.integer == 1)
        let another = try store.beginTransaction()
        outer.rollback()
        #expect(throws: DefaultsError(.closed, "The transaction has ended")) { try another.commit() }
        #expect(try store.snapshot().count == 0)
    }

    @Test("a transaction that has ended says so of each call, and changes nothing", arguments: [true, false])
    func ended(isCommitted: Bool) throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        try store.set(list(1), at: ["a"])
        let transaction = try store.beginTransaction()
        if isCommitted { try transaction.commit() } else { transaction.rollback() }
        let expected = DefaultsError(.closed, "The transaction has ended")
        #expect(throws: expected) { try transaction.value(at: ["a"]) }
        #expect(throws: expected) { try transaction.set(list(2), at: ["a"]) }
        #expect(throws: expected) { try transaction.remove(at: ["a"]) }
        #expect(throws: expected) { try transaction.stored(at: ["a"]) }
        #expect(throws: expected) { try transaction.filled(at: ["a"]) }
        #expect(throws: expected) { try transaction.setStored(list(2), at: ["a"]) }
        #expect(throws: expected) { try transaction.set(list(2), at: ["a"], SchemaChange(replaces: true)) }
        #expect(throws: expected) { try transaction.rename(["a"], to: ["b"]) }
        #expect(throws: expected) { try transaction.reset(at: ["a"]) }
        #expect(throws: expected) { try transaction.commit() }
        transaction.rollback()
        #expect(try store.snapshot() == list(["a": 1]))
    }

    @Test("a transaction that is let go of is rolled back, and leaves the store to others")
    func letGo() throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        do {
            let transaction = try store.beginTransaction()
            try transaction.set(list(1), at: ["a"])
        }
        try onAnotherThread { try store.beginTransaction(timeout: .milliseconds(30)).commit() }
        #expect(try store.value(at: ["a"]) == nil)
    }

    // proves: G18
    @Test("a transaction waits for another thread's no longer than it was told")
    func deadline() throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        let transaction = try store.beginTransaction()
        let expected = DefaultsError(.timedOut, "Another thread kept the store locked", file: folder.file)
        #expect(throws: expected) {
            try onAnotherThread { _ = try store.beginTransaction(timeout: .milliseconds(30)) }
        }
        transaction.rollback()
    }

    @Test("another thread's set during a transaction comes after it")
    func setDuringTransaction() throws {
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        try store.set(list(["x": 1]), at: ["a"])
        let transaction = try store.beginTransaction()
        try transaction.set(list(["x": 1, "mine": 1]), at: ["a"])
        try onAnotherThread { try store.set(list(2), at: ["a", "x"]) }
        try transaction.commit()
        #expect(try store.value(at: ["a"]) == list(["x": 2, "mine": 1]))
    }

    @Test("a copy that cannot be read or written is an error, and changes nothing")
    func failedCopies() throws {
        let (from, to) = (folder.file("a.plist"), folder.file("b.plist"))
        let first = try DefaultsStore.open(path: from)
        try first.set(list(1), at: ["a"])
        let second = try DefaultsStore.open(path: to)
        try second.set(list(1), at: ["old"])
        let reader = try second.anotherHandle(.readOnly)
        #expect(throws: DefaultsError(.readOnly, "The store was opened read-only", file: to)) {
            try first.copy(to: reader)
        }
        try first.sync()
        unlink(from)
        mkdir(from, 0o700)
        #expect(throws: DefaultsError(.io, expected: "a file", found: "something else", file: from)) {
            try first.copy(to: second)
        }
        #expect(try second.snapshot() == list(["old": 1]))
    }

    // proves: G21
    @Test("goes from one engine to another and comes back the same")
    func copies() throws {
        let content = try list([
            "a": [1, 2.5, "x"], "d": Date(timeIntervalSinceReferenceDate: 0.25), "e": ["": Data([0])],
        ])
        let first = try DefaultsStore.open(path: folder.file("a.plist"))
        try first.set(content, at: [])
        let second = try DefaultsStore.open(path: folder.file("b.sqlite"))
        try second.set(list(1), at: ["old"])
        try first.copy(to: second)
        #expect(try second.snapshot() == content)
        // The other program's changes are taken along.
        try Data(list(["theirs": 1]).serialized(as: .xml)).write(to: URL(fileURLWithPath: folder.file("a.plist")))
        try first.copy(to: second)
        #expect(try second.snapshot() == list(["theirs": 1]))
        #expect(try second.remove(at: []))
        #expect(try !second.remove(at: []))
        try second.set(content, at: [])
        try second.copy(to: first)
        let third = try DefaultsStore.open(path: folder.file("c.plist"))
        try third.import(second.exported(as: .binary))
        #expect(try third.snapshot() == content)
        try third.close()
        #expect(try DefaultsStore.open(path: folder.file("c.plist")).snapshot() == content)
    }
}
