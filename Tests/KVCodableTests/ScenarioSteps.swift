import Foundation
import KVCodable
import PropertyLists
import TestSupport
import Testing

/// The type `Record` of the scenarios.
struct Record: Codable, Sendable {
    var x: Int?
    var y: Int?
    var title: String?
}

/// Takes the steps of a scenario, whose meaning is in Tests/Scenarios/README.md.
final class ScenarioSteps {
    private(set) var store: DefaultsStore
    let place: ScenarioPlace
    /// What was not as a step says.
    private(set) var mismatches: [String] = []
    private let conflicts = Conflicts()
    private var watch: DefaultsWatch?

    /// Noted on the thread that pumps.
    private final class Conflicts: @unchecked Sendable {
        var paths: [PropertyListPath] = []
    }

    private struct RollsBack: Error {}

    init(_ place: ScenarioPlace) throws {
        self.place = place
        store = try place.open()
        try watchEvents()
    }

    private func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
        if !condition { mismatches.append(what()) }
    }

    private func compare(_ found: String?, _ expected: String?, _ step: PropertyList) {
        expect(found == expected, "expected \(expected ?? "nothing"), found \(found ?? "nothing"): \(notation(step))")
    }

    private func watchEvents() throws {
        watch = try store.watchEvents { [conflicts] in
            if case .conflict(let error) = $0 { conflicts.paths.append(error.path) }
        }
    }

    /// Takes the steps of a scenario and closes the store: what was not as the scenario says.
    static func run(_ scenario: ScenarioTests.Scenario) throws -> [String] {
        let place = try ScenarioPlace(scenario)
        defer { place.remove() }
        let steps = try ScenarioSteps(place)
        try steps.take(scenario.list["steps"])
        let kept = scenario.engine == "memory" ? try place.stored(steps.store) : nil
        try steps.end()
        steps.compare(
            place.shown(try kept ?? place.stored(nil)), place.shown(scenario.list["stored"]), ["stored": true])
        return steps.mismatches
    }

    /// Closes the store; every conflict was expected by a step.
    func end() throws {
        if (try? store.pump()) != nil { expect(conflicts.paths.isEmpty, "conflicts at \(conflicts.paths)") }
        watch?.cancel()
        try store.close()
    }

    private func reopen() throws {
        watch?.cancel()
        if place.engine == "memory" { return try watchEvents() }
        try store.close()
        store = try place.open()
        try watchEvents()
    }

    func take(_ steps: PropertyList?) throws {
        for step in steps?.elements.map({ $0 }) ?? [] { try take(one: step) }
    }

    private func take(one step: PropertyList) throws {
        do {
            switch step["by"]?.string {
            case "B": try takeAsOtherProcess(step)
            case "foreign": try PropertyListFile.write(#require(step["write"]), to: place.file)
            default: try takeOwn(step)
            }
            expect(step["fails"] == nil, "no failure: \(notation(step))")
        } catch let error as RollsBack {
            throw error
        } catch {
            guard let expected = step["fails"] else {
                mismatches.append("\(error): \(notation(step))")
                return
            }
            let found = Failure(error)
            compare(found.code, expected["code"]?.string, step)
            if let path = expected["path"] { compare("\(found.path)", "\(scenarioPath(path))", step) }
            if let message = expected["message"]?.string { compare(found.message, message, step) }
        }
    }

    private func takeOwn(_ step: PropertyList) throws {
        if let path = step["set"] {
            try set(step, at: scenarioPath(path))
        } else if let path = step["get"] {
            let value = try type(of: step).map { try store.value(at: scenarioPath(path), as: $0) }
            let found = try value ?? store.value(at: scenarioPath(path))
            compare(shown(found), shown(step["is"]), step)
        } else if let path = step["remove"] {
            _ = try store.remove(at: scenarioPath(path))
        } else if let path = step["reset"] {
            _ = try store.reset(at: scenarioPath(path))
        } else if let path = step["update"] {
            try store.update(at: scenarioPath(path)) { try changed($0 ?? [:], step) }
        } else if step["edit"] != nil {
            try edit(step)
        } else if let steps = step["transaction"] {
            try transact(steps, rollsBack: step["rolls back"] != nil)
        } else if step["event"] != nil {
            _ = try store.pump()
            compare("\(conflicts.paths)", "\([scenarioPath(step["path"] ?? [])])", step)
            conflicts.paths = []
        } else if step["sync"] != nil {
            try store.sync()
        } else if step["close"] != nil {
            try store.close()
        } else {
            try takeOfLayers(step)
        }
    }

    /// Takes a step that is about the layers.
    private func takeOfLayers(_ step: PropertyList) throws {
        if let expected = step["file"] {
            if !place.isRewritten { try store.sync() }
            compare(place.shown(try place.stored(store)), place.shown(expected), step)
        } else if let path = step["origin"] {
            let origin = try store.origin(at: scenarioPath(path))
            compare(origin.map { "\($0.layer)" }, layer(step), step)
        } else if let path = step["keys"] {
            let keys = try store.keys(at: scenarioPath(path))
            compare("\(keys?.sorted() ?? [])", "\(step["are"]?.elements.compactMap(\.string) ?? [])", step)
        } else if let defaults = step["register"] {
            try store.register(defaults)
        } else if step["reopen"] != nil {
            try reopen()
        } else {
            mismatches.append("unknown step \(notation(step))")
        }
    }

    /// The layer of a step as Swift shows it.
    private func layer(_ step: PropertyList) -> String? {
        guard let layer = step["layer"]?.string else { return nil }
        return layer == "suite" ? "suite(\(step["suite"]?.integer ?? 0))" : layer
    }

    private func type(of step: PropertyList) throws -> CodableType? {
        try step["type"]?.string.map { try place.types.type($0) }
    }

    private func set(_ step: PropertyList, at path: PropertyListPath) throws {
        let value = try #require(step["to"])
        if let type = try type(of: step) {
            try store.set(value, at: path, as: type, options: .init(replaces: step["replace"] != nil))
        } else if step["replace"] != nil {
            try store.replace(value, at: path)
        } else {
            try store.set(value, at: path)
        }
    }

    private func changed(_ value: PropertyList, _ step: PropertyList) throws -> PropertyList {
        var value = value
        for (key, new) in step["with"]?.entries.map({ $0 }) ?? [] { value = try value.setting(new, at: [.key(key)]) }
        for key in step["without"]?.elements.compactMap(\.string) ?? [] {
            value = try value.removing(at: [.key(key)]) ?? value
        }
        return value
    }

    private func edit(_ step: PropertyList) throws {
        let preference = Preference<Record?>("w", in: store)
        var record = preference.wrappedValue ?? Record()
        try take(step["meanwhile"])
        if let x = step["with"]?["x"]?.integer { record.x = Int(x) }
        if let y = step["with"]?["y"]?.integer { record.y = Int(y) }
        if let title = step["with"]?["title"]?.string { record.title = title }
        for key in step["without"]?.elements.compactMap(\.string) ?? [] {
            switch key {
            case "x": record.x = nil
            case "y": record.y = nil
            default: record.title = nil
            }
        }
        preference.wrappedValue = record
        if let error = preference.error() { throw error }
    }

    private func transact(_ steps: PropertyList, rollsBack: Bool) throws {
        do {
            try store.transaction { _ in
                try take(steps)
                if rollsBack { throw RollsBack() }
            }
        } catch is RollsBack where rollsBack {}
    }

    private func takeAsOtherProcess(_ step: PropertyList) throws {
        let verb = step["set"] == nil ? "remove" : "set"
        let words = try #require(step[verb]).elements.map { $0.string ?? "\($0.integer ?? 0)" }
        let value = try step["to"].map { String(decoding: try $0.serialized(as: .json), as: UTF8.self) } ?? ""
        let helper = Process()
        let (input, output) = (Pipe(), Pipe())
        helper.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "StoreHelper")
        helper.arguments = ["drive", place.file, "manual"]
        (helper.standardInput, helper.standardOutput) = (input, output)
        try helper.run()
        input.fileHandleForWriting.write(Data("\(verb) \(words.joined(separator: ".")) \(value);close\n".utf8))
        try input.fileHandleForWriting.close()
        let answer = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        helper.waitUntilExit()
        compare(answer, "ok\n", step)
    }
}

func scenarioPath(_ list: PropertyList) -> PropertyListPath {
    PropertyListPath(list.elements.map { $0.string.map { .key($0) } ?? .index(Int($0.integer ?? -1)) })
}

/// A value as a failed expectation shows it.
func shown(_ list: PropertyList?) -> String { list.map { notation($0) } ?? "nothing" }

/// An error as scenarios describe it.
private struct Failure {
    var code = ""
    var path = PropertyListPath()
    var message: String

    init(_ error: any Error) {
        message = "\(error)"
        if let error = error as? DefaultsError {
            (code, path) = (Self.name("\(error.code)"), error.path)
        } else if let error = error as? TypeError {
            (code, path) = ("type_mismatch", error.path)
        }
    }

    /// The name of a code in Lua: `pathMismatch` is `path_mismatch`.
    private static func name(_ code: String) -> String {
        code.map { $0.isUppercase ? "_" + $0.lowercased() : String($0) }.joined()
    }
}
