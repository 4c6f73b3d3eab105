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

        /// Whether a step, at any depth, is done by another program.
        func isShared(with program: String) -> Bool { notation(list).contains(#""by": "\#(program)""#) }

        var isPossible: Bool {
            let isForeign = isShared(with: "foreign")
            return allows(engine, "engines") && !(engine == "sqlite" && isForeign)
                && !(engine == "memory" && (isForeign || isShared(with: "B")))
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
        let folder = FileManager.default.temporaryDirectory.appending(path: "scenario-" + UUID().uuidString)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "settings." + (scenario.engine == "xml" ? "plist" : scenario.engine)).path
        let types = TypeRegistry()
        try types.declare(file: Self.folder.appending(path: "types.kvtypes").path)
        let steps = ScenarioSteps(store: try begin(scenario, file, types), file: file, types: types)
        let watch = try steps.store.watchEvents {
            if case .conflict(let error) = $0 { steps.conflicts.paths.append(error.path) }
        }
        defer { watch.cancel() }
        try steps.take(scenario.list["steps"])
        let kept = scenario.engine == "memory" ? try steps.store.dictionary(of: .application) : nil
        if (try? steps.store.pump()) != nil { #expect(steps.conflicts.paths == []) }
        try steps.store.close()
        let found = try kept ?? stored(scenario, file)
        #expect(shown(found) == shown(scenario.list["stored"]))
    }

    private func begin(_ scenario: Scenario, _ file: String, _ types: TypeRegistry) throws -> DefaultsStore {
        let start = scenario.list["start"]
        if scenario.engine == "sqlite", let start {
            let store = try DefaultsStore.open(path: file)
            try store.setStored(start, at: [])
            try store.close()
        } else if scenario.engine != "memory", let start {
            try PropertyListFile.write(start, to: file)
        }
        var options = DefaultsStore.Options()
        options.durability = scenario.list["durability"] == nil ? .manual : .immediate
        if scenario.engine == "memory" { options.engine = .memory }
        options.schema = try scenario.list["schema"]?.string.map { try DefaultsSchema(types.type($0)) }
        let store = try DefaultsStore.open(path: file, options: options)
        if scenario.engine == "memory", let start { try store.setStored(start, at: []) }
        return store
    }

    /// The tree in the file; an empty dictionary if the file does not exist.
    private func stored(_ scenario: Scenario, _ file: String) throws -> PropertyList {
        if scenario.engine != "sqlite" { return try PropertyListFile.read(file)?.list ?? [:] }
        let store = try DefaultsStore.open(path: file)
        defer { try? store.close() }
        return try store.dictionary(of: .application)
    }
}
