import Configuration
import KVCodable
import KVCodableConfiguration

// What the settings mean. A program publishes it, or its package installs it, so that tools know it too.
let settings = try TypeRegistry.default.declare(
    """
    struct Player {
        volume: Int(0...10) = 7
        folders: [String] = []
        token: String? @secret
    }
    """)[0]
try PublishedTypes.publish(settings, for: "com.example.player")

// The environment counts before the store, which has the administrator's values, the user's and the type's defaults.
let provider = try DefaultsProvider(opening: "com.example.player")
let config = ConfigReader(providers: [EnvironmentVariablesProvider(), provider])
print(config.int(forKey: "volume", default: 0))  // 7

// Another program turns it down: a script, kvdefaults; or another handle.
let store = try DefaultsStore.open("com.example.player")
try await config.watchInt(forKey: "volume") { updates in
    for try await volume in updates {
        print("now", volume ?? 0)  // now 7, then now 3
        guard volume != 3 else { break }
        try store.set(3, at: ["volume"])
    }
}

// Related values are read from one snapshot, of one moment.
try store.set(["/srv/music"], at: ["folders"])
let snapshot = config.snapshot()
print(snapshot.int(forKey: "volume", default: 0), snapshot.stringArray(forKey: "folders", default: []))

// What the type calls a secret is not shown by what logs values.
try store.set("8c7e2f54", at: ["token"])
print(try provider.value(forKey: "token", type: .string).value ?? "none")  // [string: <REDACTED>]

// What is wrong is told with what was expected and found, and where.
try store.set("loud", at: ["volume"])
do {
    _ = try await config.fetchRequiredInt(forKey: "volume")
} catch {
    print(error)  // Expected Int at volume, found String
}
try store.close()
