import DefaultsStorage
import Foundation
import PropertyLists
import TestSupport
import Testing

/// The connection text of a server, which Tests/fleet.py starts.
let fleetServer = ProcessInfo.processInfo.environment["KVCODABLE_FLEET_SERVER"]

/// Stores on a server, in Swift: there is nothing to test without one.
@Suite(.enabled(if: fleetServer != nil)) struct FleetTests {
    private func open(_ name: String, note: String? = nil) throws -> DefaultsStore {
        try DefaultsStore.open(
            name,
            options: options {
                $0.engine = .postgreSQL
                $0.server = fleetServer
                $0.durability = .immediate
                $0.note = note
            })
    }

    private func waitUntil(_ condition: () throws -> Bool) rethrows -> Bool {
        for _ in 0..<1000 {
            if try condition() { return true }
            usleep(10_000)
        }
        return false
    }

    @Test("stores of a fleet are layers of a local one")
    func layers() throws {
        let all = try open("swift-all")
        try all.set(list(50), at: ["limits", "burst"])
        let usual = try open("swift-usual")
        try usual.set(list(["burst": 1]), at: ["limits"])
        try usual.set(list("dark"), at: ["theme"])
        let folder = try TemporaryFolder()
        let server = try #require(fleetServer)
        let store = try DefaultsStore.open(
            path: folder.file("a.plist"),
            options: options {
                $0.fleet = DefaultsStore.Options.Fleet(
                    server: server, mandatory: ["swift-all"], recommended: ["swift-usual"])
            })
        #expect(try store.value(at: ["limits", "burst"])?.integer == 50)
        #expect(try store.isForced("limits"))
        #expect(throws: DefaultsError(.forced, "The administrator has set this key", at: ["limits", "burst"])) {
            try store.set(list(1000), at: ["limits", "burst"])
        }
        let origin = try #require(try store.origin(at: ["limits", "burst"]))
        #expect(origin.layer == .mandatory(0) && origin.store == "swift-all")
        #expect(origin.revision == 1 && origin.author != nil)
        #expect(try store.origin(at: ["theme"])?.layer == .recommended(0))
        try store.set(list("light"), at: ["theme"])
        #expect(try store.value(at: ["theme"])?.string == "light")
        #expect(try store.remove(at: ["theme"]))
        #expect(try store.value(at: ["theme"])?.string == "dark")
        let seen = Box(0)
        let watch = try store.watch(.value(["limits", "burst"])) { change in
            seen.change { $0 = Int(change.new?.integer ?? -1) }
        }
        try all.set(list(60), at: ["limits", "burst"])
        #expect(
            try waitUntil {
                _ = try store.pump()
                return seen.value == 60
            })
        watch.cancel()
    }

    @Test("the history has each change, with what was said of it, and what it was before")
    func history() throws {
        try open("swift-history", note: "for the holidays").set(list(1), at: ["rate"])
        let store = try open("swift-history")
        try store.set(list(2), at: ["rate"])
        _ = try store.remove(at: ["rate"])
        let fleet = try DefaultsFleet(server: try #require(fleetServer))
        let changes = try fleet.history(of: "swift-history")
        #expect(changes.map(\.revision) == [3, 2, 1])
        #expect(changes.map(\.value?.integer) == [nil, 2, 1])
        #expect(changes.map(\.note) == [nil, nil, "for the holidays"])
        #expect(try fleet.history(of: "swift-history", latest: 1).map(\.revision) == [3])
        #expect(try fleet.changes(in: 2, of: "swift-history").map(\.old?.integer) == [1])
        #expect(try fleet.revision(of: "swift-history") == 3)
        #expect(try fleet.stores().contains("swift-history"))
    }
}
