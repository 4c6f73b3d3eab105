import Foundation
import PropertyLists
import TestSupport
import Testing

/// The laws of a merge, on random values.
@Suite struct MergeLawTests {
    /// 20,000, or KVCODABLE_MERGES.
    private static let rounds = ProcessInfo.processInfo.environment["KVCODABLE_MERGES"].flatMap { Int($0) } ?? 20_000

    private func merge(
        _ ancestor: TreeModel, _ ours: TreeModel, _ theirs: TreeModel
    ) throws -> (value: PropertyList?, conflicts: [MergeConflict]) {
        let merged = try PropertyList.merge(ancestor: ancestor.list, ours: ours.list, theirs: theirs.list)
        return (merged.value, merged.conflicts)
    }

    private func expect(
        _ expected: PropertyList, from old: TreeModel, _ ours: TreeModel, _ theirs: TreeModel, _ round: Int
    ) throws {
        let merged = try merge(old, ours, theirs)
        #expect(merged.value == expected && merged.conflicts.isEmpty, "round \(round)")
    }

    @Test("one side's change alone, and the same change of both, is the result")
    func identities() throws {
        var random = RandomTrees(seed: 1)
        for round in 0..<Self.rounds {
            let old = random.tree()
            let new = random.edited(old)
            let expected = try new.list
            for (ours, theirs) in [(old, new), (new, old), (new, new)] {
                try expect(expected, from: old, ours, theirs, round)
            }
        }
    }

    @Test("changes of different keys are all kept, whichever side made them")
    func disjoint() throws {
        var random = RandomTrees(seed: 2)
        for round in 0..<Self.rounds {
            let (first, second) = (random.tree(), random.tree())
            let (ours, theirs) = (random.edited(first), random.edited(second))
            let old = TreeModel.dictionary(["a": first, "b": second])
            let left = TreeModel.dictionary(["a": ours, "b": second])
            let right = TreeModel.dictionary(["a": first, "b": theirs])
            let expected = try TreeModel.dictionary(["a": ours, "b": theirs]).list
            for (ours, theirs) in [(left, right), (right, left)] {
                try expect(expected, from: old, ours, theirs, round)
            }
        }
    }

    // proves: G13
    @Test("of additions alone none is lost or doubled, and each side keeps its order")
    func additions() throws {
        var random = RandomTrees(seed: 3)
        for round in 0..<Self.rounds {
            let shape = random.shape()
            let old = random.elements(shape)
            let ours = random.adding(shape, to: old, mark: "ours")
            let theirs = random.adding(shape, to: old, mark: "theirs")
            let merged = try merge(.array(old), .array(ours), .array(theirs))
            let elements = merged.value.map { Array($0.elements) } ?? []
            #expect(merged.conflicts.isEmpty, "round \(round)")
            #expect(elements.count == ours.count + theirs.count - old.count, "round \(round)")
            for side in [ours, theirs] {
                #expect(
                    try Self.contains(elements, side.map { try $0.list }), "round \(round): \(old) \(ours) \(theirs)")
            }
        }
    }

    /// Whether all of `part` are in `whole`, in their order.
    private static func contains(_ whole: [PropertyList], _ part: [PropertyList]) -> Bool {
        var rest = part[...]
        for element in whole where rest.first == element { rest.removeFirst() }
        return rest.isEmpty
    }

    @Test("three programs that share a file have the same in the end: each one's keys and elements, once")
    func convergence() throws {
        var random = RandomTrees(seed: 4)
        for round in 0..<(Self.rounds / 10) {
            var file: PropertyList = ["list": ["start"], "table": ["start": 0]]
            var seen = [file, file, file]
            var mine = seen
            var made: [PropertyList] = []
            func sync(_ program: Int) throws {
                let merged = try PropertyList.merge(ancestor: seen[program], ours: mine[program], theirs: file)
                #expect(merged.conflicts.isEmpty, "round \(round)")
                file = try #require(merged.value)
                (seen[program], mine[program]) = (file, file)
            }
            for step in 0..<12 {
                let program = random.number(3)
                let text = "\(program)-\(step)"
                made.append(PropertyList(text))
                let list = try #require(mine[program]["list"])
                let front = random.number(2) == 0
                let grown = (front ? [PropertyList(text)] : []) + list.elements + (front ? [] : [PropertyList(text)])
                mine[program] = try mine[program].setting(PropertyList(grown), at: ["list"])
                mine[program] = try mine[program].setting(PropertyList(step), at: ["table", .key(text)])
                if random.number(2) == 0 { try sync(random.number(3)) }
            }
            for _ in 0..<2 { for program in 0..<3 { try sync(program) } }
            #expect(mine[0] == mine[1] && mine[1] == mine[2])
            let list = try #require(file["list"])
            #expect(list.count == made.count + 1)
            for text in made { #expect(list.elements.contains(text) && file["table"]?[text.string ?? ""] != nil) }
        }
    }

    @Test("a typed set keeps what its type does not know of the elements that stay")
    func unknownKeys() throws {
        var random = RandomTrees(seed: 5)
        for round in 0..<Self.rounds {
            // What the file holds has a secret; what the type reads and writes has none.
            let ids = (0..<random.number(6)).map { Int64($0) }.shuffled(using: &random.numbers)
            let stored = try ids.map { try Self.record($0, 0, secret: true).list }
            let known = try ids.map { try Self.record($0, 0).list }
            var ours = known.filter { _ in random.number(4) > 0 }.shuffled(using: &random.numbers)
            if random.number(2) == 0 { ours.insert(try Self.record(100, 0).list, at: random.number(ours.count + 1)) }
            let changed = random.number(ours.count + 1)
            if changed < ours.count { ours[changed] = try ours[changed].setting(1, at: ["size"]) }
            let merged = try PropertyList.merge(
                ancestor: PropertyList(known), ours: PropertyList(ours), theirs: PropertyList(stored),
                rules: MergeRules(oursWins: true))
            let elements = merged.value.map { Array($0.elements) } ?? []
            #expect(elements.map { $0["id"] } == ours.map { $0["id"] }, "round \(round)")
            for (element, given) in zip(elements, ours) {
                let id = try #require(element["id"]?.integer)
                #expect(element["size"] == given["size"])
                #expect(element["secret"]?.integer == (id == 100 ? nil : id), "round \(round)")
            }
        }
    }

    private static func record(_ id: Int64, _ size: Int64, secret: Bool = false) -> TreeModel {
        var entries: [String: TreeModel] = ["id": .integer(id), "size": .integer(size)]
        if secret { entries["secret"] = .integer(id) }
        return .dictionary(entries)
    }
}

/// Random trees, and changes to them.
private struct RandomTrees {
    /// What the elements of an array are.
    enum Shape: CaseIterable {
        case words, numbers, records, dictionaries
    }

    var numbers: SeededGenerator
    private var additions = 0

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

    mutating func number(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }

    mutating func shape() -> Shape { Shape.allCases[number(Shape.allCases.count)] }

    mutating func tree(_ depth: Int = 3) -> TreeModel {
        switch depth == 0 ? number(2) : number(6) {
        case 0: .integer(Int64(number(3)))
        case 1: .string(["a", "b", ""][number(3)])
        case 2, 3:
            .array(depth > 1 && number(2) == 0 ? (0..<number(4)).map { _ in tree(depth - 1) } : elements(shape()))
        default:
            .dictionary(Dictionary((0..<number(4)).map { _ in (key(), tree(depth - 1)) }) { first, _ in first })
        }
    }

    private mutating func key() -> String { ["a", "b", "c", "id", "name"][number(5)] }

    mutating func elements(_ shape: Shape) -> [TreeModel] {
        (0..<number(6)).map { element(shape, Int64($0)) }
    }

    private mutating func element(_ shape: Shape, _ index: Int64) -> TreeModel {
        switch shape {
        case .words: .string(["a", "b", "c"][number(3)])
        case .numbers: .integer(Int64(number(3)))
        case .records: .dictionary(["id": .integer(index), "size": .integer(Int64(number(3)))])
        case .dictionaries: .dictionary(["size": .integer(Int64(number(2))), "kind": .string("k")])
        }
    }

    mutating func adding(_ shape: Shape, to old: [TreeModel], mark: String) -> [TreeModel] {
        var new = old
        for _ in 0..<number(4) {
            additions += 1
            let element: TreeModel =
                switch shape {
                case .words: .string("\(mark) \(additions)")
                case .numbers: .integer(Int64(100 + additions))
                case .records: .dictionary(["id": .string("\(mark) \(additions)"), "size": .integer(0)])
                case .dictionaries: .dictionary(["text": .string("\(mark) \(additions)")])
                }
            new.insert(element, at: number(new.count + 1))
        }
        return new
    }

    /// The tree with up to three changes.
    mutating func edited(_ tree: TreeModel) -> TreeModel {
        (0..<number(4)).reduce(tree) { tree, _ in changed(tree) }
    }

    private mutating func changed(_ tree: TreeModel) -> TreeModel {
        switch tree {
        case .dictionary(var entries) where number(4) > 0:
            let key = key()
            entries[key] = number(3) == 0 ? nil : entries[key].map { changed($0) } ?? self.tree(1)
            return .dictionary(entries)
        case .array(var elements) where number(4) > 0:
            let index = number(elements.count + 1)
            switch number(4) {
            case 0 where index < elements.count: elements.remove(at: index)
            case 1 where index < elements.count: elements[index] = changed(elements[index])
            case 2 where index < elements.count:
                elements.insert(elements.remove(at: index), at: number(elements.count + 1))
            default: elements.insert(self.tree(1), at: index)
            }
            return .array(elements)
        default: return self.tree(2)
        }
    }
}
