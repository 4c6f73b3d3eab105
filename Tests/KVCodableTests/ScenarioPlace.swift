import Foundation
import KVCodable
import PropertyLists
import TestSupport

/// The folder of one scenario, with the files of its layers, and its store.
final class ScenarioPlace {
    static let types: TypeRegistry = {
        let types = TypeRegistry()
        guard (try? types.declare(file: ScenarioTests.folder.appending(path: "types.kvtypes").path)) != nil else {
            fatalError("Tests/Scenarios/types.kvtypes cannot be read")
        }
        return types
    }()

    let engine: String
    /// The store's file.
    let file: String
    private let scenario: PropertyList
    private let folder: URL
    private let hasName: Bool
    private var isFilled = false

    var types: TypeRegistry { Self.types }

    /// Whether the store's file is no property list.
    var isRewritten: Bool { engine == "memory" || engine == "sqlite" }

    init(_ scenario: ScenarioTests.Scenario) throws {
        self.scenario = scenario.list
        engine = scenario.engine
        hasName = scenario.hasName
        folder = FileManager.default.temporaryDirectory.appending(path: "scenario-" + UUID().uuidString)
        let isPlain = engine == "xml" || hasName && engine == "json"
        file = folder.appending(path: "settings." + (isPlain ? "plist" : engine)).path
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try writeLayers()
        if let start = scenario.list["start"], engine == "sqlite" {
            let store = try DefaultsStore.open(path: file)
            try store.setStored(start, at: [])
            try store.close()
        } else if let start = scenario.list["start"], engine != "memory" {
            try PropertyListFile.write(start, to: file, as: engine == "json" ? .json : .xml)
        }
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    private func path(_ name: String) -> String { folder.appending(path: name).path }

    private func writeLayers() throws {
        if let list = scenario["managed"] { try PropertyListFile.write(list, to: path("managed.plist"), as: .xml) }
        if let list = scenario["global"] {
            try PropertyListFile.write(list, to: path(".GlobalPreferences.plist"), as: .xml)
        }
        for (index, list) in (scenario["suites"]?.elements.map { $0 } ?? []).enumerated() {
            try PropertyListFile.write(list, to: path("suite\(index).plist"), as: .xml)
        }
        if let list = scenario["administrator"] {
            try FileManager.default.createDirectory(atPath: path("defaults"), withIntermediateDirectories: false)
            try PropertyListFile.write(list, to: path("defaults/settings.plist"), as: .xml)
        }
    }

    func open() throws -> DefaultsStore {
        var options = DefaultsStore.Options()
        options.durability = scenario["durability"] == nil ? .manual : .immediate
        if engine == "memory" { options.engine = .memory }
        if engine == "sqlite" { options.engine = .sqlite }
        if engine == "json" { options.format = .json }
        options.schema = try scenario["schema"]?.string.map { try DefaultsSchema(types.type($0)) }
        options.arguments = scenario["arguments"]
        options.defaults = scenario["registered"]
        if scenario["managed"] != nil { options.managedFile = path("managed.plist") }
        options.suites = (0..<(scenario["suites"]?.count ?? 0)).map { "suite\($0)" }
        let store = try hasName ? openName(options) : DefaultsStore.open(path: file, options: options)
        if engine == "memory", !isFilled, let start = scenario["start"] {
            try store.import(start.serialized(as: .binary))
        }
        isFilled = true
        return store
    }

    private func openName(_ options: DefaultsStore.Options) throws -> DefaultsStore {
        try withEnvironment(["XDG_CONFIG_HOME": folder.path, "KVCODABLE_DEFAULTS_DIR": path("defaults")]) {
            try DefaultsStore.open("settings", options: options)
        }
    }

    /// The tree in the file, an empty dictionary if the file does not exist; of a store in memory, or of an open
    /// database, what the store has of its own.
    func stored(_ store: DefaultsStore?) throws -> PropertyList {
        if let store, isRewritten { return try store.dictionary(of: .application) }
        if engine != "sqlite" { return try PropertyListFile.read(file)?.list ?? [:] }
        let store = try DefaultsStore.open(path: file)
        defer { try? store.close() }
        return try store.dictionary(of: .application)
    }

    /// What the store's own layer holds, as a failed expectation shows it: the order of the unset paths does not count.
    /// Where the layer is read through the store, it has no reserved keys.
    func shown(_ list: PropertyList?) -> String {
        guard let list, list.kind == .dictionary else { return shownValue(list) }
        let entries = list.entries.compactMap { key, value -> String? in
            guard key == "KVUnset" else { return quoted(key) + ": " + notation(value) }
            if isRewritten { return nil }
            return value.kind == .array ? "KVUnset: \(value.elements.map(notation).sorted())" : notation(value)
        }
        return "{" + entries.joined(separator: ", ") + "}"
    }

    private func shownValue(_ list: PropertyList?) -> String { KVCodableTests.shown(list) }
}
