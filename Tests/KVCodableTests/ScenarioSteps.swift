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
struct ScenarioSteps {
    let store: DefaultsStore
    let file: String
    let types: TypeRegistry
    let conflicts = Conflicts()

    /// Noted on the thread that pumps.
    final class Conflicts: @unchecked Sendable {
        var paths: [PropertyListPath] = []
    }

    private struct RollsBack: Error {}

    func take(_ steps: PropertyList?) throws {
        for step in steps?.elements.map({ $0 }) ?? [] { try take(one: step) }
    }

    private func take(one step: PropertyList) throws {
        let what = Comment(rawValue: notation(step))
        do {
            switch step["by"]?.string {
            case "B": try takeAsOtherProcess(step)
            case "foreign": try PropertyListFile.write(#require(step["write"]), to: file)
            default: try takeOwn(step)
            }
            #expect(step["fails"] == nil, what)
        } catch let error as RollsBack {
            throw error
        } catch {
            guard let expected = step["fails"] else { throw error }
            let found = Failure(error)
            #expect(found.code == expected["code"]?.string, what)
            if let path = expected["path"] { #expect(found.path == scenarioPath(path), what) }
            if let message = expected["message"]?.string { #expect(found.message == message, what) }
        }
    }

    private func takeOwn(_ step: PropertyList) throws {
        if let path = step["set"] {
            try set(step, at: scenarioPath(path))
        } else if let path = step["get"] {
            let value = try type(of: step).map { try store.value(at: scenarioPath(path), as: $0) }
            let found = try value ?? store.value(at: scenarioPath(path))
            #expect(shown(found) == shown(step["is"]))
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
            #expect(conflicts.paths == [scenarioPath(try #require(step["path"]))])
            conflicts.paths = []
        } else if step["sync"] != nil {
            try store.sync()
        } else if step["close"] != nil {
            try store.close()
        }
    }

    private func type(of step: PropertyList) throws -> CodableType? {
        try step["type"]?.string.map { try types.type($0) }
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
        helper.arguments = ["drive", file, "manual"]
        (helper.standardInput, helper.standardOutput) = (input, output)
        try helper.run()
        input.fileHandleForWriting.write(Data("\(verb) \(words.joined(separator: ".")) \(value);close\n".utf8))
        try input.fileHandleForWriting.close()
        let answer = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        helper.waitUntilExit()
        #expect(answer == "ok\n")
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
