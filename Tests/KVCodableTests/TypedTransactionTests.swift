import Foundation
import KVCodable
import Observation
import PropertyLists
import Synchronization
import Testing

private enum Theme: String, Codable { case light, dark }
private struct Window: Codable, Equatable { var width = 640, title: String? }

private struct Settings {
    @Preference var theme: Theme
    @Preference var title: String?
    @Preference var width: Int

    init(_ store: DefaultsStore) {
        _theme = Preference(wrappedValue: .dark, "theme", in: store)
        _title = Preference("title", in: store)
        _width = Preference(\.width, of: Window(), "window", in: store)
    }
}

@Observable private final class Model {
    @ObservationIgnored @Preference private var storedVolume: Int

    init(_ store: DefaultsStore) { _storedVolume = Preference(wrappedValue: 7, "volume", in: store) }

    var volume: Int {
        get {
            access(keyPath: \.volume)
            return storedVolume
        }
        set { withMutation(keyPath: \.volume) { storedVolume = newValue } }
    }
}

/// A type that counts how often it is decoded, and refuses.
private struct Picky: Codable, Sendable {
    static let calls = Atomic(0)

    init(from decoder: any Decoder) throws {
        Self.calls.add(1, ordering: .relaxed)
        throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "refused"))
    }

    func encode(to encoder: any Encoder) throws {}
}

@Suite struct TypedTransactionTests {
    let store: DefaultsStore

    init() throws { store = try memoryStore() }

    @Test("a transaction reads and writes Swift types by key and by path, and all or nothing of it happens")
    func transactions() throws {
        try store.transaction { transaction in
            try transaction.encode(Window(width: 5), forKey: "window")
            #expect(try transaction.decode(Int.self, at: ["window", "width"]) == 5)
            try transaction.encode(6, at: ["window", "width"])
            try transaction.update(Int.self, at: ["window", "width"]) { $0 = ($0 ?? 0) + 1 }
            try transaction.update(Window.self, forKey: "window") { $0?.title = "a" }
            #expect(try transaction.contains("window") && transaction.contains(at: ["window", "title"]))
            #expect(try !transaction.contains(at: ["window", "tabs"]))
            try transaction.set(Theme.light, forKey: "theme")
            let list: PropertyList = ["a", "b"]
            try transaction.set(list, forKey: "list")
            #expect(try transaction.value(forKey: "list") == list)
        }
        #expect(try store.decode(Window.self, forKey: "window") == Window(width: 7, title: "a"))
        #expect(try store.decode(forKey: "theme") == Theme.light)
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try store.transaction { transaction in
                try transaction.encode(Window?.none, forKey: "window")
                #expect(try !transaction.contains("window"))
                throw Failure()
            }
        }
        #expect(try store.contains("window"))
        try store.update(Int.self, at: ["window", "width"]) { $0 = nil }
        #expect(try !store.contains(at: ["window", "width"]))
    }

    @Test("keys that a type does not know stay in a transaction, too")
    func keepsUnknown() throws {
        try store.set(["width": 1, "newer": true], at: ["window"])
        try store.transaction { try $0.encode(Window(width: 2), forKey: "window") }
        #expect(try store.value(forKey: "window") == ["width": 2, "newer": true])
    }

    @Test("an ended transaction is an error for its typed calls")
    func ended() throws {
        let transaction = try store.beginTransaction()
        transaction.rollback()
        #expect(throws: DefaultsError.self) { try transaction.encode(1, forKey: "a") }
        #expect(throws: DefaultsError.self) { try transaction.decode(Int.self, forKey: "a") }
        #expect(throws: DefaultsError.self) { try transaction.update(Int.self, forKey: "a") { $0 = 1 } }
    }

    @Test("registered defaults, watches and migrations have Swift types")
    func handsTypesOver() throws {
        try store.register(Window(width: 3))
        #expect(try store.decode(Int.self, forKey: "width") == 3)
        let error = #expect(throws: DefaultsError.self) { try store.register([1]) }
        #expect(error?.code == .invalidValue)
        let told = Told()
        let watch = try store.watch(Int.self, at: ["n"]) { told.add($0) }
        try store.set(1, forKey: "n")
        _ = try store.pump()
        try store.set("x", forKey: "n")
        _ = try store.pump()
        _ = try store.remove(at: ["n"])
        _ = try store.pump()
        watch.cancel()
        #expect(told.all == ["Optional(1)", "Expected BinaryInteger at n, found String", "nil"])
        var options = DefaultsStore.Options()
        options.engine = .memory
        options.migrations = [DefaultsMigration(to: 1) { try $0.encode(Window(width: 9), forKey: "window") }]
        let migrated = try DefaultsStore.open("migrated", options: options)
        #expect(try migrated.decode(Window.self, forKey: "window") == Window(width: 9))
    }

    @Test("a getter has its default where a key is absent, or of another type")
    func getters() throws {
        #expect(store["volume", default: 7] == 7)
        try store.set(8, forKey: "volume")
        #expect(store["volume", default: 7] == 8)
        #expect(store["volume", default: "loud"] == "loud")
        #expect(store["window", default: Window()] == Window())
    }

    @Test("a preference has an enum's default, is nil, or is a part of a struct")
    func preferences() throws {
        let settings = Settings(store)
        #expect(settings.theme == .dark && settings.title == nil && settings.width == 640)
        settings.theme = .light
        settings.title = "a"
        settings.width = 800
        #expect(try store.value(at: []) == ["theme": "light", "title": "a", "window": ["width": 800]])
        try store.set(["width": 1, "title": "kept", "newer": 2], at: ["window"])
        settings.width += 1
        #expect(try store.value(at: ["window"]) == ["width": 2, "title": "kept", "newer": 2])
        settings.title = nil
        #expect(try !store.contains("title"))
        try store.set("wide", at: ["window", "width"])
        #expect(settings.width == 640)
        #expect(settings.$width.error() is DecodingError)
        settings.width = 3
        #expect(settings.$width.error() is DecodingError)
        #expect(try store.value(at: ["window", "width"]) == "wide")
    }

    @Test("a preference in an observable model tells its observers")
    func observable() throws {
        let model = Model(store)
        let told = Told()
        withObservationTracking {
            #expect(model.volume == 7)
        } onChange: {
            told.add(.success(1))
        }
        model.volume = 9
        #expect(told.all.count == 1)
        #expect(try store.decode(Int.self, forKey: "volume") == 9)
    }

    @Test("a program's own type is asked once for a value that it refuses, and the error has the key")
    func asksOnce() throws {
        let type = try TypeRegistry().register(Picky.self, as: "Picky")
        try store.setStored(list("no"), at: ["key"])
        Picky.calls.store(0, ordering: .relaxed)
        let read = #expect(throws: TypeError.self) { try store.value(at: ["key"], as: type) }
        #expect(read?.path == ["key"])
        #expect(Picky.calls.load(ordering: .relaxed) == 1)
        Picky.calls.store(0, ordering: .relaxed)
        let written = #expect(throws: TypeError.self) {
            try store.set(list("no"), at: ["key"], as: type, options: .init(replaces: true))
        }
        #expect(written?.path == ["key"])
        #expect(Picky.calls.load(ordering: .relaxed) == 1)
        #expect(try store.stored(at: ["key"]) == list("no"))
    }

    @Test("a sequence of values throws when it is iterated over, and only then", .timeLimit(.minutes(1)))
    func sequences() async throws {
        try store.close()
        let values = store.values(Int.self, forKey: "n")
        await #expect(throws: DefaultsError.self) { for try await _ in values {} }
    }
}

private final class Told: @unchecked Sendable {
    private let lock = NSLock()
    private var notes: [String] = []

    var all: [String] { lock.withLock { notes } }

    func add(_ result: Result<Int?, any Error>) {
        let note =
            switch result {
            case .success(let value): "\(value as Any)"
            case .failure(DecodingError.typeMismatch(_, let context)): context.debugDescription
            case .failure(let error): "\(error)"
            }
        lock.withLock { notes.append(note) }
    }
}
