import DefaultsStorage
import Foundation
import PropertyLists
import TestSupport
import Testing

/// Random operations on a store and on a plain dictionary in memory, which must agree after each one.
@Suite struct ModelTests {
    /// 1,000,000 in the stress run, by KVCODABLE_OPERATIONS.
    private static let operations =
        ProcessInfo.processInfo.environment["KVCODABLE_OPERATIONS"].flatMap { Int($0) } ?? 6_000

    private static let engines = DefaultsStore.Options.Engine.tested

    // proves: G21
    @Test("means the same as a dictionary", arguments: engines)
    func model(engine: DefaultsStore.Options.Engine) throws {
        let folder = try TemporaryFolder()
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        let opened = options {
            $0.engine = engine
            $0.durability = .manual
        }
        func open() throws -> DefaultsStore {
            try DefaultsStore.open(path: folder.file("a.plist"), options: opened)
        }
        var store = try open()
        var model = try list([String: Any]())
        for number in 0..<(Self.operations / Self.engines.count) {
            switch Int.random(in: 0..<1000, using: &generator) {
            case 0..<3: try store.sync()
            case 3 where engine != .memory:
                try store.close()
                store = try open()
            case 4..<20: try transact(store, &model, &generator)
            default: try step(store, &model, &generator)
            }
            if number % 50 == 0 {
                try #require(try store.snapshot() == model, "seed \(seed), operation \(number)")
            }
            let path = Self.path(&generator)
            try #require(
                try store.value(at: path) == model.value(at: path), "seed \(seed), operation \(number) at \(path)")
        }
        #expect(try store.snapshot() == model)
        try store.close()
    }

    private func transact(_ store: DefaultsStore, _ model: inout PropertyList, _ generator: inout SeededGenerator)
        throws
    {
        struct Stop: Error {}
        var inner = model
        var copy = generator
        let commits = Bool.random(using: &copy)
        do {
            try store.transaction { _ in
                for _ in 0..<5 { try step(store, &inner, &copy) }
                if !commits { throw Stop() }
            }
            model = inner
        } catch is Stop {}
        generator = copy
    }

    /// One change, made to both; both must accept it or both refuse it in the same words.
    private func step(_ store: DefaultsStore, _ model: inout PropertyList, _ generator: inout SeededGenerator) throws {
        let path = Self.path(&generator)
        if Int.random(in: 0..<4, using: &generator) == 0 {
            let expected = try model.removing(at: path)
            #expect(try store.remove(at: path) == (expected != nil))
            model = expected ?? model
            return
        }
        let value = try list(Self.value(&generator, depth: 0))
        do throws(PropertyListError) {
            model = try model.setting(value, at: path)
        } catch {
            let expected = DefaultsError(.pathMismatch, error.words, at: error.path)
            #expect(throws: expected) { try store.set(value, at: path) }
            return
        }
        try store.set(value, at: path)
    }

    private static func path(_ generator: inout SeededGenerator) -> PropertyListPath {
        var path = PropertyListPath([.key("k\(Int.random(in: 0..<6, using: &generator))")])
        while Int.random(in: 0..<5, using: &generator) < 2 {
            if Bool.random(using: &generator) {
                path.steps.append(.key(["a", "b", "", "é", "e\u{301}"].randomElement(using: &generator) ?? "a"))
            } else {
                path.steps.append(.index(Int.random(in: 0..<4, using: &generator)))
            }
        }
        return path
    }

    private static func value(_ generator: inout SeededGenerator, depth: Int) -> Any {
        switch Int.random(in: 0..<(depth < 3 ? 9 : 6), using: &generator) {
        case 0: return Int.random(in: -5...5, using: &generator)
        case 1: return Double.random(in: -1...1, using: &generator)
        case 2: return ["", "text", "zwölf"].randomElement(using: &generator) ?? ""
        case 3: return Bool.random(using: &generator)
        case 4: return Data([1, 2, 3])
        case 5: return Date(timeIntervalSinceReferenceDate: Double(Int.random(in: 0..<99, using: &generator)) + 0.5)
        case 6: return (0..<3).map { _ in value(&generator, depth: depth + 1) }
        default:
            var result: [String: Any] = [:]
            for key in ["a", "b", "c"] where Bool.random(using: &generator) {
                result[key] = value(&generator, depth: depth + 1)
            }
            return result
        }
    }
}
