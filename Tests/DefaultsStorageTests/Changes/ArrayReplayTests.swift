import DefaultsStorage
import Foundation
import PropertyLists
import TestSupport
import Testing

/// Changes by index that are made again since another program wrote the array: an index means an element.
@Suite struct ArrayReplayTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A change of the array under "a"; nil removes.
    struct Change: Sendable {
        var path: PropertyListPath
        var json: String?
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        /// The array before, and as the other program wrote it.
        var old, theirs: String
        var changes: [Change]
        var expected: String
        var conflicts: [String] = []
        var testDescription: String { name }

        init(
            _ name: String, _ old: String, _ changes: [(PropertyListPath, String?)], _ theirs: String,
            _ expected: String,
            conflicts: [String] = []
        ) {
            self.name = name
            (self.old, self.theirs, self.expected, self.conflicts) = (old, theirs, expected, conflicts)
            self.changes = changes.map { Change(path: $0.0, json: $0.1) }
        }
    }

    static let gone = "Expected the element that was changed, found none: another program removed it"
    static let changed =
        "Expected the element that was changed, found another in its place: another program changed it"
    static let unclear = "Expected the element that was changed, found several: another program changed the array"

    static let cases = [
        Case("both append", "[1]", [([1], "2")], "[1, 9]", "[1, 9, 2]"),
        Case("both append twice", "[]", [([0], "1"), ([1], "2")], "[8, 9]", "[8, 9, 1, 2]"),
        Case("an insertion before what is removed", "[1, 2, 3]", [([0], nil)], "[0, 1, 2, 3]", "[0, 2, 3]"),
        Case("an insertion before what is changed", "[1, 2, 3]", [([1], "5")], "[0, 1, 2, 3]", "[0, 1, 5, 3]"),
        Case("a removal before what is changed", "[1, 2, 3]", [([2], "5")], "[2, 3]", "[2, 5]"),
        Case(
            "one element, by different keys", #"[{"a": 1}]"#, [([0, "b"], "2")], #"[{"a": 3}]"#, #"[{"a": 3, "b": 2}]"#),
        Case(
            "below an element that moved", #"[{"n": 1}, {"n": 2}]"#, [([1, "n"], "5")], #"[7, {"n": 1}, {"n": 2}]"#,
            #"[7, {"n": 1}, {"n": 5}]"#),
        Case(
            "below an element that was appended", "[1]", [([1], "{}"), ([1, "x"], "2")], "[1, 9]", #"[1, 9, {"x": 2}]"#),
        Case("removed what was appended", "[1]", [([1], "2"), ([1], nil)], "[1, 9]", "[1, 9]"),
        Case(
            "removals one after the other", "[1, 2, 3, 4]", [([0], nil), ([0], nil), ([1], "8")], "[0, 1, 2, 3, 4]",
            "[0, 3, 8]"),
        Case("the same element removed", "[1, 2, 3]", [([1], nil)], "[1, 3]", "[1, 3]"),
        Case(
            "the same element removed, and the one behind it changed", "[1, 2, 3]", [([1], nil), ([1], "5")], "[1, 3]",
            "[1, 5]"),
        Case("an array in an array", "[[1], [2]]", [([1, 1], "3")], "[[0], [1], [2, 9]]", "[[0], [1], [2, 9, 3]]"),
        Case(
            "an array in an array that is as it was", "[[1], [2]]", [([1, 1], "3")], "[[0], [1], [2]]",
            "[[0], [1], [2, 3]]"),
        Case(
            "an array that was set", #"[{"l": [1]}]"#, [([0, "l"], "[5]"), ([0, "l", 1], "6")], #"[{"l": [1, 2]}]"#,
            #"[{"l": [5, 6]}]"#),
        Case("all in place", "[1, 2, 3]", [([1], "5")], "[7, 8, 9]", "[7, 5, 9]"),
        Case("an element that is gone is changed", "[1, 2, 3]", [([1], "5")], "[1, 3]", "[1, 3]", conflicts: [gone]),
        Case(
            "an element among others that changed", "[1, 2, 3]", [([1], "5"), ([2], "6")], "[1, 7, 8, 3]",
            "[1, 7, 8, 6]", conflicts: [unclear]),
        Case(
            "one that is not known is removed", "[1, 2]", [([0], nil)], "[7, 8, 9]", "[7, 8, 9]", conflicts: [unclear]),
        Case("equal ones", "[1, 1, 2]", [([1], "5")], "[0, 1, 1, 2]", "[0, 1, 5, 2]"),
        Case("another order", "[1, 2]", [([0], "5")], "[2, 1]", "[2, 5]"),
        Case("the last one moved to the front", "[1, 2, 3, 4]", [([0], nil)], "[4, 1, 2, 3]", "[4, 2, 3]"),
        Case(
            "below one that others have changed places with", #"[{"n": 1}, {"n": 2}, {"n": 3}]"#, [([0, "x"], "5")],
            #"[{"n": 3}, {"n": 1}, {"n": 2}]"#, #"[{"n": 3}, {"n": 1, "x": 5}, {"n": 2}]"#),
        Case(
            "one that moved, beside one in its place", #"[{"a": 1}, 7, 8]"#, [([0, "x"], "5")], #"[9, 7, {"a": 1}]"#,
            #"[9, 7, {"a": 1, "x": 5}]"#),
        Case(
            "one of equal ones that moved is removed", "[1, 1, 2, 3]", [([0], nil)], "[3, 1, 2, 1]", "[3, 1, 2, 1]",
            conflicts: [unclear]),
        Case(
            "one of equal ones, of which one is left, is removed", "[1, 1, 2]", [([0], nil)], "[2, 1]", "[2, 1]",
            conflicts: [unclear]),
        Case(
            "one that there are two of now is removed", "[1, 2]", [([0], nil)], "[2, 1, 1]", "[2, 1, 1]",
            conflicts: [unclear]),
        Case(
            "one in whose place another has moved", #"[{"a": 1}, 7, 8]"#, [([2], "5")], #"[9, 7, {"a": 1}]"#,
            #"[9, 7, {"a": 1}]"#, conflicts: [unclear]),
        Case(
            "one that moved is removed, and the next one changed", #"[{"a": 1}, 7, 8]"#, [([0], nil), ([0], "5")],
            #"[9, 7, {"a": 1}]"#, "[9, 5]"),
        Case(
            "what is in the place of an element is removed", #"["a"]"#, [([0], nil)], #"["z"]"#, #"["z"]"#,
            conflicts: [changed]),
        Case(
            "what another has changed is removed", #"[1, {"a": 1}]"#, [([1], nil)], #"[1, {"a": 2}]"#,
            #"[1, {"a": 2}]"#, conflicts: [changed]),
        Case(
            "what comes behind a removal that is a conflict", "[1, 2, 3, 4]", [([0], nil), ([1], nil), ([1], "8")],
            "[7, 2, 3, 4]", "[7, 2, 8]", conflicts: [changed]),
        Case("what was set is removed, over a change of it", "[1, 2]", [([0], "5"), ([0], nil)], "[7, 2]", "[2]"),
        Case(
            "far from where it was", "[\((0..<200).map { "\($0)" }.joined(separator: ", "))]", [([100], "-1")],
            "[\((65..<199).map { "\($0)" }.joined(separator: ", "))]",
            "[\((65..<199).map { $0 == 100 ? "-1" : "\($0)" }.joined(separator: ", "))]"),
        Case("no array any more", "[1]", [([0], "5")], "7", "7", conflicts: ["Expected Array, found Int"]),
    ]

    private func path(_ change: Change) -> PropertyListPath { PropertyListPath([.key("a")] + change.path.steps) }

    private func list(_ json: String) throws -> PropertyList { try PropertyList(parsing: Array(json.utf8), as: .json) }

    private func make(_ changes: [Change], in store: DefaultsStore) throws {
        for change in changes {
            if let json = change.json {
                try store.set(list(json), at: path(change))
            } else {
                #expect(try store.remove(at: path(change)))
            }
        }
    }

    private func write(_ json: String, _ path: String) throws {
        try PropertyListFile.write(list(#"{"a": \#(json)}"#), to: path, as: .json)
    }

    // proves: G11, G12
    @Test("are made to the elements that they were made to", arguments: cases)
    func flushed(_ given: Case) throws {
        let path = folder.file("a.json")
        try write(given.old, path)
        let store = try DefaultsStore.open(path: path, options: options { $0.durability = .manual })
        let conflicts = Box<[String]>([])
        let watch = try store.watchEvents { event in
            if case .conflict(let error) = event { conflicts.change { $0.append(error.message) } }
        }
        try make(given.changes, in: store)
        try write(given.theirs, path)
        try store.sync()
        _ = try store.pump()
        #expect(try store.value(at: ["a"]) == list(given.expected))
        #expect(conflicts.value == given.conflicts)
        // And once more, with all of it written.
        try store.sync()
        #expect(try store.value(at: ["a"]) == list(given.expected))
        watch.cancel()
    }

    // proves: G11, G12
    @Test("are made so at once with immediate durability, or are an error", arguments: cases, [true, false])
    func immediate(_ given: Case, hasSchema: Bool) throws {
        guard given.changes.count == 1 else { return }
        let path = folder.file("a.json")
        try write(given.old, path)
        let store = try DefaultsStore.open(
            path: path,
            options: options {
                $0.durability = .immediate
                $0.schema = hasSchema ? DefaultsSchema { _, _ in } : nil
            })
        #expect(try store.value(at: ["a"]) == list(given.old))
        try write(given.theirs, path)
        let error = Box<DefaultsError?>(nil)
        do {
            if let json = given.changes[0].json {
                try store.set(list(json), at: self.path(given.changes[0]))
            } else {
                _ = try store.remove(at: self.path(given.changes[0]))
            }
        } catch let problem as DefaultsError {
            error.change { $0 = problem }
        }
        #expect(error.value?.message == given.conflicts.first)
        if let code = error.value?.code { #expect(code == (given.theirs == "7" ? .pathMismatch : .conflict)) }
        #expect(try store.value(at: ["a"]) == list(given.expected))
    }
}
