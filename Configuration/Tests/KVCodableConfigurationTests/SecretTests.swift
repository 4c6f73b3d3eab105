import Configuration
import Foundation
import KVCodable
import KVCodableConfiguration
import Synchronization
import Testing

/// Notes what a reader reports of its reads.
private final class Notes: AccessReporter {
    private let events = Mutex<[String]>([])

    var all: String { events.withLock { $0.joined(separator: "\n") } }

    func report(_ event: AccessEvent) {
        let results = event.providerResults.map { "\($0.providerName): \($0.result)" }
        events.withLock { $0.append("\(event.metadata.key) \(results) \(event.result)") }
    }
}

@Suite("Secrets of a store as configuration")
struct SecretTests {
    static let types = """
        root Settings
        struct Settings {
            volume: Int = 7
            token: String(8...64)? @secret
            pin: Int(1000...9999)? @secret
            login: Login? @secret
            keys: [Key] = []
            phones: [String] = [] @secret
            server: Server?
        }
        struct Server { id: UUID? @secret }
        struct Login { user: String = "anna" }
        /// One of the keys.
        enum Key: String @secret { gold, brass }
        """

    @Test("what the type calls a secret is marked, with all that is inside of it")
    func marked() throws {
        let store = try memoryStore(Self.types)
        let stored: PropertyList = [
            "token": "abcdefghij", "login": ["user": "eve", "unknown": 5], "phones": ["1"], "keys": ["gold"],
        ]
        for (key, value) in stored.entries { try store.setStored(value, at: [.key(key)]) }
        let provider = DefaultsProvider(store)
        let expected: [(AbsoluteConfigKey, ConfigType, Bool)] = [
            ("volume", .int, false), ("token", .string, true), ("login.user", .string, true),
            ("login.unknown", .int, true), ("phones", .stringArray, true), ("keys", .stringArray, true),
        ]
        for (key, type, isSecret) in expected {
            #expect(try provider.value(forKey: key, type: type).value?.isSecret == isSecret, "\(key)")
            #expect(try provider.snapshot().value(forKey: key, type: type).value?.isSecret == isSecret, "\(key)")
        }
    }

    @Test("neither reports nor errors show a secret")
    func hidden() throws {
        let folder = try Folder()
        try folder.write("a.plist", ["token": "s3cret", "pin": 123, "phones": ["s3cret"], "server": ["id": "s3cret"]])
        var options = DefaultsStore.Options()
        options.schema = try schema(Self.types)
        let notes = Notes()
        let provider = DefaultsProvider(try DefaultsStore.open(path: folder.file("a.plist"), options: options))
        let config = ConfigReader(provider: provider, accessReporter: notes)
        #expect(config.string(forKey: "token") == nil && config.int(forKey: "pin") == nil)
        #expect(config.stringArray(forKey: "phones") == ["s3cret"])
        #expect(config.string(forKey: "server") == nil)
        #expect(notes.all.contains("Expected UUID? at server.id, found a secret that is none"))
        #expect(notes.all.contains("Expected String(8...64)? at token, found a secret that is none"))
        #expect(notes.all.contains("Expected Int(1000...9999)? at pin, found a secret that is none"))
        #expect(!notes.all.contains("s3cret") && !notes.all.contains("123"))
        #expect(!"\(provider)".contains("s3cret"))
    }
}
