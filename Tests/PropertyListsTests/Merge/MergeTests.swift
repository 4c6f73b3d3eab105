import PropertyLists
import Testing

/// One rule of a merge each. Whole stories are in Tests/Scenarios.
@Suite struct MergeTests {
    private func merge(
        _ ancestor: PropertyList?, _ ours: PropertyList?, _ theirs: PropertyList?, rules: MergeRules = MergeRules()
    ) throws -> (PropertyList?, [String]) {
        let merged = try PropertyList.merge(ancestor: ancestor, ours: ours, theirs: theirs, rules: rules)
        return (merged.value, merged.conflicts.map(\.description))
    }

    @Test func changesOfDifferentKeysAreBothKept() throws {
        let (value, conflicts) = try merge(["a": ["x": 1]], ["a": ["x": 1, "y": 2]], ["a": ["x": 3], "b": 4])
        #expect(value == ["a": ["x": 3, "y": 2], "b": 4])
        #expect(conflicts.isEmpty)
    }

    @Test func aChangeWinsOverARemoval() throws {
        #expect(try merge(["a": 1], [:], ["a": 2]) == (["a": 2], ["a: kept theirs"]))
        #expect(try merge(["a": 1], ["a": 2], [:]) == (["a": 2], ["a: kept ours"]))
        #expect(try merge(["a": 1], [:], ["a": 2], rules: MergeRules(oursWins: true)) == ([:], []))
    }

    @Test func anotherKindWinsOverChangesInside() throws {
        #expect(try merge(["a": ["x": 1]], ["a": ["x": 2]], ["a": "off"]) == (["a": "off"], ["a: kept theirs"]))
        #expect(try merge(["a": ["x": 1]], ["a": "off"], ["a": ["x": 2]]) == (["a": "off"], ["a: kept ours"]))
    }

    @Test func anotherCaseOfAnEnumIsAnotherKind() throws {
        let circle: PropertyList = ["circle": ["radius": 1]]
        let larger: PropertyList = ["circle": ["radius": 2]]
        let square: PropertyList = ["square": ["side": 1]]
        #expect(try merge(circle, square, larger) == (square, [": kept ours"]))
        #expect(try merge(circle, larger, square) == (square, [": kept theirs"]))
        #expect(try merge(circle, ["line": 1], square) == (["line": 1], [": kept ours"]))
        // A dictionary that the other side added a key to is no enum.
        #expect(try merge(["a": 1], ["b": 1], ["a": 1, "c": 2]) == (["b": 1, "c": 2], []))
        // A schema knows enums that were not there before.
        let rules = MergeRules(isVariant: { _ in true })
        #expect(try merge(nil, circle, square, rules: rules) == (circle, [": kept ours"]))
        // A key beside the case stays, and a typed set takes only the old case away.
        let marked: PropertyList = ["circle": ["radius": 1], "newer": 1]
        #expect(try merge(circle, larger, marked, rules: rules) == (["circle": ["radius": 2], "newer": 1], []))
        let typed = MergeRules(oursWins: true, isVariant: { _ in true })
        #expect(try merge(circle, square, marked, rules: typed) == (["newer": 1, "square": ["side": 1]], []))
        #expect(try merge([:], circle, square, rules: typed) == (circle, []))
    }

    @Test(
        "arrays are merged by element",
        arguments: [
            // Theirs in front of ours, but at the front of the array ours first.
            (["a"], ["a", "x"], ["a", "y"], ["a", "y", "x"]),
            (["a"], ["x", "a"], ["y", "a"], ["x", "y", "a"]),
            ([], ["x"], ["y"], ["x", "y"]),
            // An addition of both sides is one.
            (["a"], ["a", "x"], ["a", "x", "y"], ["a", "x", "y"]),
            // What replaced elements stands where they stood.
            (["a", "b"], ["a", "b", "c"], ["x", "y", "z"], ["x", "y", "z", "c"]),
            (["a", "b"], ["x", "y", "z"], ["a", "b", "c"], ["x", "y", "z", "c"]),
            // A moved element stays where it was moved to, and is removed if the other side removed it.
            (["a", "b", "c"], ["c", "a", "b"], ["a", "b", "c", "d"], ["c", "a", "b", "d"]),
            (["a", "b", "c"], ["a", "b"], ["c", "a", "b"], ["a", "b"]),
            // As many as before are changes in place.
            (["a", "b", "c"], ["a", "x", "c"], ["b", "c"], ["x", "c"]),
        ] as [([String], [String], [String], [String])])
    func elements(_ ancestor: [String], _ ours: [String], _ theirs: [String], _ expected: [String]) throws {
        let lists = try [ancestor, ours, theirs, expected].map { try PropertyList(any: $0) }
        #expect(try merge(lists[0], lists[1], lists[2]).0 == lists[3])
    }

    @Test func numbersAreMergedByPosition() throws {
        #expect(try merge([1, 2, 3], [9, 2, 3], [1, 2, 8]) == ([9, 2, 8], []))
        #expect(try merge([0.5, true], [0.25, true], [0.75, false]) == ([0.25, false], ["[0]: kept ours"]))
    }

    @Test func recordsAreRecognisedByTheirIdentifier() throws {
        let old: PropertyList = [["id": 1, "name": "a"], ["id": 2, "name": "b", "token": "t"]]
        // As many as before: the new record gets nothing of the removed one.
        let (value, _) = try merge(
            [["id": 1, "name": "a"], ["id": 2, "name": "b"]], [["id": 3, "name": "c"], ["id": 1, "name": "x"]], old,
            rules: MergeRules(oursWins: true))
        #expect(value == [["id": 3, "name": "c"], ["id": 1, "name": "x"]])
        // Both added record 3.
        let added = try merge([["id": 1]], [["id": 1], ["id": 3, "a": 1]], [["id": 3, "b": 2], ["id": 1]])
        #expect(added.0 == [["id": 3, "a": 1, "b": 2], ["id": 1]])
        // A name may be changed.
        let named = try merge(
            [["name": "a", "port": 1], ["name": "b", "port": 2]],
            [["name": "c", "port": 1], ["name": "b", "port": 2]],
            [["name": "b", "port": 2], ["name": "a", "port": 1]])
        #expect(named.0 == [["name": "b", "port": 2], ["name": "c", "port": 1]])
    }

    @Test func changedElementsAreRecognisedByHalfOfTheirEntries() throws {
        let (value, conflicts) = try merge(
            [["x": 1, "y": 1], ["x": 2, "y": 2]], [["x": 2, "y": 3]], [["x": 1, "y": 1], ["x": 2, "y": 2, "z": 9]])
        #expect(value == [["x": 2, "y": 3, "z": 9]])
        #expect(conflicts.isEmpty)
    }

    @Test func aVeryLongArrayIsOurs() throws {
        let long = try PropertyList(any: (0..<50_001).map { "\($0)" })
        #expect(try merge(long, ["x"], ["y"]) == (["x"], [": kept ours"]))
        // What one side alone changed needs no merge.
        #expect(try merge(long, long, ["y"]) == (["y"], []))
    }
}

private func == (left: (PropertyList?, [String]), right: (PropertyList?, [String])) -> Bool {
    left.0 == right.0 && left.1 == right.1
}
