import Foundation
import KVCodable
import PropertyLists
import TestSupport
import Testing

/// The scenarios of Tests/Scenarios in Swift.
@Suite struct ScenarioTests {
    struct Scenario: Sendable, CustomTestStringConvertible {
        let list: PropertyList
        /// Empty for a merge, which needs no store.
        let engine: String

        var testDescription: String { (list["name"]?.string ?? "") + (engine.isEmpty ? "" : " (\(engine))") }

        func allows(_ name: String, _ key: String, of file: PropertyList? = nil) -> Bool {
            guard let names = list[key] ?? file?[key] else { return true }
            return names.elements.contains { $0.string == name }
        }

        /// Whether the store is opened by a name, since it has layers that belong to names.
        var hasName: Bool { ["suites", "administrator", "global"].contains { list[$0] != nil } }

        /// Whether a step, at any depth, is done by another program.
        func isShared(with program: String) -> Bool { notation(list).contains(#""by": "\#(program)""#) }

        var isPossible: Bool {
            let isForeign = isShared(with: "foreign")
            // Locked values cannot be put into a store in memory.
            if engine == "memory", list["managed"] != nil, list["start"] != nil { return false }
            return allows(engine, "engines") && !(engine == "sqlite" && isForeign)
                && !(engine == "memory" && (isForeign || isShared(with: "B") || hasName))
        }
    }

    static let folder = testsFolder.appending(path: "Scenarios")

    static let all: [Scenario] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".json") }.sorted().flatMap { file -> [Scenario] in
            guard let content = try? PropertyListFile.read(folder.appending(path: file).path)?.list else {
                fatalError("Tests/Scenarios/\(file) cannot be read")
            }
            return (content["scenarios"]?.elements.map { $0 } ?? []).flatMap { list -> [Scenario] in
                guard Scenario(list: list, engine: "").allows("swift", "in", of: content) else { return [] }
                if list["merge"] != nil { return [Scenario(list: list, engine: "")] }
                return ["xml", "json", "sqlite", "memory"].map { Scenario(list: list, engine: $0) }
            }
        }
    }()

    @Test("a merge gives its result and its conflicts", arguments: all.filter(\.engine.isEmpty))
    func merge(_ scenario: Scenario) throws {
        let input = try #require(scenario.list["merge"])
        let merged = try PropertyList.merge(
            ancestor: input["ancestor"], ours: input["ours"], theirs: input["theirs"])
        #expect(shown(merged.value) == shown(scenario.list["is"]))
        let expected = scenario.list["conflicts"]?.elements.map { conflict in
            MergeConflict(
                path: scenarioPath(conflict["path"] ?? []), ours: conflict["ours"], theirs: conflict["theirs"],
                kept: conflict["kept"]?.string == "ours" ? .ours : .theirs)
        }
        #expect(merged.conflicts == expected ?? [])
    }

    @Test("a store does what its scenario says", arguments: all.filter { !$0.engine.isEmpty && $0.isPossible })
    func steps(_ scenario: Scenario) throws {
        #expect(try ScenarioSteps.run(scenario) == [])
    }

    @Test("every word of the files is known to the drivers", arguments: all)
    func words(_ scenario: Scenario) {
        #expect(Set(scenario.list.keys).subtracting(Self.keys) == [])
        #expect(Self.unknownWords(scenario.list["steps"]) == [])
    }

    private static let keys: Set<String> = [
        "name", "in", "engines", "schema", "durability", "start", "steps", "stored", "merge", "is", "conflicts",
        "managed", "arguments", "suites", "administrator", "global", "registered",
    ]
    private static let words: Set<String> = [
        "by", "write", "fails", "set", "to", "type", "replace", "remove", "reset", "get", "is", "update", "with",
        "without", "edit", "meanwhile", "transaction", "rolls back", "sync", "close", "event", "path", "file", "origin",
        "layer", "suite", "keys", "are", "register", "reopen",
    ]

    private static func unknownWords(_ steps: PropertyList?) -> Set<String> {
        (steps?.elements.map { $0 } ?? []).reduce(into: []) { result, step in
            result.formUnion(Set(step.keys).subtracting(words))
            result.formUnion(unknownWords(step["meanwhile"]))
            result.formUnion(unknownWords(step["transaction"]))
        }
    }
}
