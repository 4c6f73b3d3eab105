import PropertyLists
import Testing

/// Which old element each element of a changed array came from.
@Suite struct ArrayMatchingTests {
    private static func matching(_ old: [Int?], _ new: [Int], keepsOrder: Bool) throws -> ArrayMatching {
        ArrayMatching(
            new: try new.map { try PropertyList(any: $0) },
            known: try old.map { try $0.map { try PropertyList(any: $0) } }, keepsOrder: keepsOrder,
            holdsUnknown: { $0 == 0 })
    }

    @Test(
        "equal elements are the same, others where as many stand between them",
        arguments: [
            ([1, 2, 3], [1, 2, 3], [0, 1, 2]),
            // One changed in place, and one that is not of the type.
            ([1, 2, 3, 4], [1, 9, 3, 4], [0, 1, 2, 3]),
            ([1, nil, 3], [1, 9, 3], [0, 1, 2]),
            // As many as before: they have moved.
            ([1, 2, 3], [3, 1, 2], [2, 0, 1]),
            ([1, 1, 2], [2, 1, 1], [2, 0, 1]),
            // Fewer or more: first those in order, then runs of one length, then what has moved.
            ([1, 2, 3, 4, 5], [9, 2, 4, 8], [0, 1, 3, 4]),
            ([5, 1, 2], [1, 1], [1, 2]),
            ([1, 2, 3], [2, 3, 8, 1], [1, 2, nil, 0]),
            ([1, 2], [9, 1, 8, 2, 7], [nil, 0, nil, 1, nil]),
            ([], [1], [nil]),
        ] as [([Int?], [Int], [Int?])])
    func matches(_ old: [Int?], _ new: [Int], _ sources: [Int?]) throws {
        let matching = try Self.matching(old, new, keepsOrder: false)
        #expect(matching.sources == sources)
        #expect(matching.moves.isEmpty)
        #expect(matching.dropped == (old.isEmpty || sources.contains(0) ? 0 : 1))
    }

    @Test(
        "where the order is kept, what has moved is noted and not matched",
        arguments: [
            ([2, 3], [9, 2], [nil, 0], [:]),
            ([1, 2, 3, 4], [2, 3, 1], [1, 2, nil], [0: 2]),
            ([1, 2, 3], [3, 1, 2], [2, nil, nil], [0: 1, 1: 2]),
            // Which of two that are equal it was cannot be told.
            ([1, 1, 2], [2, 1], [2, nil], [0: nil, 1: nil]),
            ([1, 2], [2, 1, 1], [1, nil, nil], [0: nil]),
        ] as [([Int?], [Int], [Int?], [Int: Int?])])
    func notesMoves(_ old: [Int?], _ new: [Int], _ sources: [Int?], _ moves: [Int: Int?]) throws {
        let matching = try Self.matching(old, new, keepsOrder: true)
        #expect(matching.sources == sources)
        let found = matching.moves.mapValues { move -> Int? in
            if case .to(let index) = move { index } else { nil }
        }
        #expect(found == moves)
    }
}
