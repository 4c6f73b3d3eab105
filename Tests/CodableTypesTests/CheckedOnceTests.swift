import Foundation
import PropertyLists
import Testing

@testable import CodableTypes

@Suite("A value is checked against a type once") struct CheckedOnceTests {
    private static let text = """
        struct Plain { id: Int; name: String }
        struct Renamed { id: Int @key(i); name: String = "none"; level: Level = high }
        enum Level: Int { low, high = 10 }
        """

    private func registry() throws -> TypeRegistry {
        let registry = TypeRegistry()
        try registry.declare(Self.text)
        return registry
    }

    private func plain(_ count: Int) throws -> PropertyList {
        try tree((0..<count).map { ["id": $0, "name": "n\($0)"] as [String: Any] })
    }

    private func renamed(_ count: Int) throws -> PropertyList { try tree((0..<count).map { ["i": $0] }) }

    @Test("a value is checked once against a type, and gives the same document again")
    func remembers() throws {
        let registry = try registry()
        let list = try plain(100)
        let type = try registry.type("[Plain]")
        let plan = try type.plans.plan()
        #expect(list.document.finding(plan.question, at: 0) == nil)
        #expect(try type.decode(list).document === list.document)
        #expect(list.document.finding(plan.question, at: 0) != nil)
        #expect(try type.decode(list).document === list.document)

        let stored = try renamed(100)
        let other = try registry.type("[Renamed]")
        let first = try other.decode(stored)
        #expect(try other.decode(stored).document === first.document)
        #expect(first[7]?["level"]?.integer == 10)
    }

    @Test("nothing is known of a document of which nothing was noted", arguments: [1, 1 << 32, 1 << 40, UInt64.max])
    func unknown(_ question: UInt64) throws {
        let document = try plain(100).document
        #expect(document.finding(question, at: 0) == nil)
        document.note(.holds, question, at: 0)
        #expect(document.finding(question, at: 0) != nil)
        #expect(document.finding(question &+ 1, at: 0) == nil && document.finding(question, at: 1) == nil)
    }

    @Test("a set says what a get will find")
    func set() throws {
        let type = try registry().type("[Plain]")
        let list = try plain(100)
        _ = try type.encode(list)
        let plan = try type.plans.plan()
        #expect(list.document.finding(plan.question, at: 0) != nil)
    }

    @Test("a small value that was encoded is decoded to what was given, without a walk")
    func small() throws {
        let type = try registry().type("Renamed")
        let given = try tree(["id": 7, "name": "none", "level": 0] as [String: Any])
        let stored = try type.encode(given).list
        #expect(try stored == tree(["i": 7, "name": "none", "level": 0]))
        #expect(try type.decode(stored).document === given.document)
        // Over a value with keys that the type does not know.
        let over = try type.encode(given, over: try tree(["i": 1, "new": 2])).list
        #expect(over["new"]?.integer == 2)
        #expect(try type.decode(over).document === given.document)
        // A file's value is decoded once.
        let read = try tree(["i": 1])
        let first = try type.decode(read)
        #expect(try type.decode(read).document === first.document)
    }

    @Test("what a set kept the next one keeps, too", arguments: [1, 100])
    func kept(_ count: Int) throws {
        let type = try registry().type("[Plain]")
        var stored = try tree((0..<count).map { ["id": $0, "name": "n", "new": $0] as [String: Any] })
        for round in 0..<3 {
            let given = try tree((0..<count).map { ["id": $0, "name": "n\(round)"] as [String: Any] })
            stored = try type.encode(given, over: stored).list
            #expect(stored[count - 1]?["new"]?.integer == Int64(count - 1))
            #expect(try type.decode(stored) == given)
        }
    }

    /// A type, a value, and the value that decoding the encoded one must give instead.
    private static var changing: [(type: String, given: Any?, decoded: Any?)] {
        let whole: [String: Any] = ["a": 1, "b": 2, "list": [Int]()]
        func with(_ change: [String: Any]) -> [String: Any] { whole.merging(change) { $1 } }
        return [
            ("Given", ["a": 1], whole),
            ("Given", with(["list": [String: Int](), "t": 9]), whole),
            ("Given", with(["t": 9]), whole),
            ("Given", with(["real": 3]), with(["real": 3.0])),
            ("Given", with(["o": "$null"]), whole),
            ("Renamed", ["id": 7], ["id": 7, "name": "none", "level": 10] as [String: Any]),
            ("Hidden", ["a": 1], ["a": 1, "t": 5]),
            ("Hidden", ["a": 1, "t": 6], ["a": 1, "t": 5]),
            ("Double", 1, 1.0),
            ("[Int]", [String: Int](), [Int]()),
            ("[Int?]", [1, "$null"] as [Any], [1, nil] as [Int?]),
        ]
    }

    @Test("a value that decoding would change is not taken for what it gives", arguments: changing.indices)
    func changes(_ row: Int) throws {
        let registry = try registry()
        try registry.declare(
            """
            struct Given {
                a: Int @key(A); b: Int = 2; list: [Int] = []; real: Double?; o: String?; t: Int? @transient
            }
            struct Hidden { a: Int @key(A); t: Int = 5 @transient }
            """)
        let (name, given, decoded) = Self.changing[row]
        let type = try registry.type(name)
        let stored = try type.encode(try tree(given)).list
        #expect(try type.decode(stored) == tree(decoded))
        #expect(try type.decode(stored) == tree(decoded))
    }

    @Test("what is encoded again and again keeps no chain of what it was made of", arguments: [1, 100])
    func chain(_ count: Int) throws {
        // Its result can be given to it again.
        let registry = TypeRegistry()
        try registry.declare("struct Swap { x: Int @key(y); y: Int @key(x) }")
        let type = try registry.type("[Swap]")
        weak var early: Document?
        var value = try tree(Array(repeating: ["x": 1, "y": 2], count: count))
        for round in 0..<6 {
            if round == 1 { early = value.document }
            value = try type.encode(value).list
        }
        #expect(try type.decode(value) == tree(Array(repeating: ["x": 2, "y": 1], count: count)))
        #expect(early == nil)
    }

    @Test("types of the same name in two registries are told apart")
    func types() throws {
        let list = try plain(100)
        let (one, other) = (try registry().type("[Plain]"), TypeRegistry())
        try other.declare("struct Plain { id: String; name: String }")
        _ = try one.decode(list)
        let error = try typeError { _ = try other.type("[Plain]").decode(list) }
        #expect(error.path == [0, "id"])
        #expect(try one.decode(list).document === list.document)
    }

    @Test("a name that gets another meaning is looked up anew")
    func redeclared() throws {
        let registry = TypeRegistry(redeclaration: .replaces)
        try registry.declare("struct List { all: [Item] }; struct Item { id: Int; name: String }")
        let type = try registry.type("List")
        let list = try PropertyList.emptyDictionary.setting(try plain(100), at: ["all"])
        _ = try type.decode(list)
        try registry.declare("struct Item { id: String; name: String }")
        #expect(try typeError { _ = try type.decode(list) }.path == ["all", 0, "id"])
    }

    @Test("parts of a document are told apart by their places")
    func parts() throws {
        let type = try registry().type("[Renamed]")
        let whole = try PropertyList.emptyDictionary.setting(try renamed(100), at: ["a"])
            .setting(try renamed(200), at: ["b"])
        let (a, b) = (try #require(whole["a"]), try #require(whole["b"]))
        for _ in 0..<3 {
            #expect(try type.decode(a).count == 100)
            #expect(try type.decode(b).count == 200)
        }
    }

    @Test("what is kept is in proportion to the document, however many types ask")
    func bounded() throws {
        let list = try renamed(100)
        var results: [() -> Bool] = []
        for number in 0..<500 {
            let registry = TypeRegistry()
            try registry.declare("struct R { id: Int @key(i); d: Int = \(number) }")
            let result = try registry.type("[R]").decode(list)
            #expect(result[0]?["d"]?.integer == Int64(number))
            results.append { [weak document = result.document] in document != nil }
        }
        // Four times the document's 301 nodes: a result has 501.
        #expect(results.count { $0() } == 2)
    }

    @Test("a document goes with its memo")
    func freed() throws {
        let type = try registry().type("[Renamed]")
        var isAlive: (() -> Bool)?
        do {
            let list = try renamed(100)
            let result = try type.decode(list)
            isAlive = { [weak document = list.document, weak other = result.document] in document != nil || other != nil
            }
            #expect(isAlive?() == true)
        }
        #expect(isAlive?() == false)
    }

    @Test("many threads ask at once")
    func threads() async throws {
        let registry = try registry()
        let (plain, renamed) = (try plain(200), try renamed(200))
        let types = (try registry.type("[Plain]"), try registry.type("[Renamed]"))
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<16 {
                group.addTask {
                    for _ in 0..<200 {
                        if number % 2 == 0 {
                            guard try types.0.decode(plain) == plain else { return false }
                        } else {
                            guard try types.1.decode(renamed)[199]?["id"]?.integer == 199 else { return false }
                        }
                    }
                    return true
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test("code of a Swift type runs each time")
    func swift() throws {
        let counter = Counter()
        let registry = TypeRegistry()
        try registry.register(Counted.self, as: "Counted", userInfo: [Counted.key: counter])
        let list = try tree(Array(repeating: ["value": 1], count: 100))
        let type = try registry.type("[Counted]")
        _ = try type.decode(list)
        let once = counter.count
        _ = try type.decode(list)
        #expect(once == 100 && counter.count == 200)
    }
}

private final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var number = 0
    var count: Int { lock.withLock { number } }
    func add() { lock.withLock { number += 1 } }
}

private struct Counted: Codable {
    static let key = CodingUserInfoKey(rawValue: "counter").unsafelyUnwrapped
    var value: Int

    init(from decoder: any Decoder) throws {
        (decoder.userInfo[Self.key] as? Counter)?.add()
        value = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .value)
    }
}
