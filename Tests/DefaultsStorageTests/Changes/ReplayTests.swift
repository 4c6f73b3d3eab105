import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// Changes by path that are made again, since another program wrote the file before they were flushed.
@Suite struct ReplayTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ content: Any) throws -> DefaultsStore {
        try folder.write(content)
        return try folder.open(.manual)
    }

    @Test("what a transaction that came to nothing lay over is made again before what was set meanwhile")
    func order() throws {
        let store = try open(["a": ["list": [1, 2, 3]]])
        try store.set(list(10), at: ["a", "list", 0])
        #expect(try store.remove(at: ["a", "list", 1]))
        let transaction = try store.beginTransaction()
        try onAnotherThread {
            _ = try store.remove(at: ["a", "list", 0])
            try store.set(list(30), at: ["a", "list", 1])
        }
        transaction.rollback()
        try folder.write(["a": ["list": [1, 2, 3], "theirs": 1]])
        try store.sync()
        #expect(try store.snapshot() == list(["a": ["list": [3, 30], "theirs": 1]]))
    }

    @Test("keys that Swift takes for one are two, also when they are set one after the other")
    func normalisation() throws {
        let store = try open(["a": ["x": 0]])
        try store.set(list(1), at: ["a", "\u{E9}"])
        try store.set(list(2), at: ["a", "e\u{301}"])
        try folder.write(["a": ["x": 9]])
        try store.sync()
        #expect(try store.value(at: ["a", "\u{E9}"])?.integer == 1)
        #expect(try store.value(at: ["a", "e\u{301}"])?.integer == 2)
        #expect(try store.value(at: ["a", "x"])?.integer == 9)
    }

    @Test("however many changes there are, each by an index is made again, and what keys were set to last")
    func many() throws {
        let store = try open(["a": ["list": Array(0..<10), "map": ["x": -1]]])
        for number in 0..<600 {
            try store.set(list(number), at: ["a", "map", "x"])
            try store.set(list(["n": number]), at: ["a", "map", "y"])
            if number % 200 == 0 {
                #expect(try store.remove(at: ["a", "list", 0]))
                try store.set(list(-number), at: ["a", "list", 1])
            }
            if number % 3 == 0 { #expect(try store.remove(at: ["a", "map", "y"])) }
        }
        try folder.write(["a": ["list": [55] + Array(0..<10), "map": ["x": -1, "theirs": 1]]])
        try store.sync()
        let expected: [String: Any] = [
            "list": [55, -200, -400] + Array(5..<10), "map": ["x": 599, "y": ["n": 599], "theirs": 1],
        ]
        #expect(try store.snapshot() == list(["a": expected]))
    }

    @Test("what was set as a whole is merged, also under changes by path", arguments: [true, false])
    func wholes(isApart: Bool) throws {
        let store = try open(["a": ["x": 0, "old": 1]])
        try store.set(list(["x": 1]), at: ["a"])
        // Apart: the change by path lies over those that a transaction has set aside.
        let transaction = isApart ? try store.beginTransaction() : nil
        try onAnotherThread { try store.set(list(2), at: ["a", "y"]) }
        transaction?.rollback()
        try folder.write(["a": ["x": 9, "old": 1, "theirs": 1], "b": 1])
        try store.sync()
        #expect(try store.snapshot() == list(["a": ["x": 1, "y": 2, "theirs": 1], "b": 1]))
    }

    @Test("what another program writes in the middle of a transaction is there beside all that was changed")
    func conflict() throws {
        let store = try open(["a": ["list": [1, 2, 3]]])
        try store.set(list(10), at: ["a", "list", 0])
        // Empty: only the waiting changes are written.
        let transaction = try store.beginTransaction()
        try onAnotherThread { try store.set(list(5), at: ["a", "meanwhile"]) }
        try folder.write(["a": ["list": [1, 2, 3], "theirs": 1]])
        try transaction.commit()
        let expected = try list(["a": ["list": [10, 2, 3], "theirs": 1, "meanwhile": 5]])
        #expect(try store.snapshot() == expected)
        try store.sync()
        #expect(try folder.stored() == expected)
    }

    @Test("so it is where the transaction then cannot be written, since what they wrote cannot hold it")
    func conflictAndFailure() throws {
        let store = try open(["a": ["old": 1]])
        try store.set(list(Data([1])), at: ["a", "data"])
        let transaction = try store.beginTransaction()
        try transaction.set(list(1), at: ["a", "inside"])
        try onAnotherThread { try store.set(list(5), at: ["a", "meanwhile"]) }
        try folder.write(["a": ["theirs": 1]], as: .json)
        #expect(throws: DefaultsError.self) { try transaction.commit() }
        #expect(try store.snapshot() == list(["a": ["theirs": 1, "data": Data([1]), "meanwhile": 5]]))
        #expect(try store.remove(at: ["a", "data"]))
        try store.sync()
        #expect(try folder.stored() == list(["a": ["theirs": 1, "meanwhile": 5]]))
    }

    // proves: G11
    @Test("changes are merged each time that another program writes")
    func again() throws {
        let store = try open(["a": ["map": [String: Any](), "list": ["1", "2", "3", "4"]]])
        try store.set(list(5), at: ["a", "map", "x"])
        for _ in 0..<2 { #expect(try store.remove(at: ["a", "list", 0])) }
        try folder.write(["a": ["map": [String: Any](), "list": ["0", "1", "2", "3", "4"]]])
        try store.refresh()
        #expect(try store.snapshot() == list(["a": ["map": ["x": 5], "list": ["0", "3", "4"]]]))
        try folder.write(["a": ["map": ["y": 1], "list": ["9", "0", "1", "2", "3", "4"]]])
        try store.refresh()
        let expected = try list(["a": ["map": ["x": 5, "y": 1], "list": ["9", "0", "3", "4"]]])
        #expect(try store.snapshot() == expected)
        try store.sync()
        #expect(try folder.stored() == expected)
    }
}
