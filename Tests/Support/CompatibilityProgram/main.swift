// A program as one writes it for KeyValueCoder 0.9: its import, its names and its defaults, and no others. It prints
// what it sees, one fact a line; the tests compare that with what that library gives.
import Foundation
import KeyValueCoder

struct Seafood: Codable, Equatable {
    var name: String
    var price: Double?
    var tags: [String] = []
    var landed: Date?
}

func note(_ name: String, _ value: @autoclosure () throws -> Any?) {
    do {
        print("\(name): \(try value().map { "\($0)" } ?? "nil")")
    } catch let DecodingError.typeMismatch(type, context) {
        print("\(name): typeMismatch \(type): \(context.debugDescription)")
    } catch let DecodingError.valueNotFound(type, context) {
        print("\(name): valueNotFound \(type): \(context.debugDescription)")
    } catch let DecodingError.keyNotFound(key, context) {
        print("\(name): keyNotFound \(key.stringValue): \(context.debugDescription)")
    } catch let EncodingError.invalidValue(_, context) {
        print("\(name): invalidValue: \(context.debugDescription)")
    } catch {
        print("\(name): \(type(of: error))")
    }
}

// Coders are values with public properties.
var encoder = KeyValueEncoder()
var decoder = KeyValueDecoder()
let info: [CodingUserInfoKey: any Sendable] = [CodingUserInfoKey(rawValue: "from")!: "program"]
encoder.userInfo = info
decoder.userInfo = info

let fish = Seafood(name: "cod", price: 7.5, tags: ["white", "cold"], landed: nil)
let encoded = try encoder.encode(fish)
let entries = encoded as? [String: Any]
note("keys", entries?.keys.sorted())
note("price", entries?["price"] as? Double)
note("tags", entries?["tags"] as? [String])
note("decoded", try decoder.decode(Seafood.self, from: entries as Any) == fish)
let inferred: Seafood = try decoder.decode(from: ["name": "crab", "tags": [String]()] as [String: Any])
note("inferred", inferred.name)
let list: [Seafood] = try decoder.decode(from: [["name": "eel", "tags": ["long"]]] as [[String: Any]])
note("list", list.first?.tags)
note("width", try encoder.encode(Int8(1)).map { type(of: $0) })

// The defaults, and what may be handed to another thread.
func isShared(_ value: some Sendable) -> Bool { true }
let (freshEncoder, freshDecoder) = (KeyValueEncoder(), KeyValueDecoder())
if case .date = freshEncoder.dateEncodingStrategy, case .useDefaultKeys = freshEncoder.keyEncodingStrategy {
    note(
        "encoder's defaults", freshEncoder.userInfo.isEmpty && freshEncoder.nilEncodingStrategy.isNull(Int?.none as Any)
    )
}
if case .date = freshDecoder.dateDecodingStrategy, case .exact = freshDecoder.intDecodingStrategy,
    case .useDefaultKeys = freshDecoder.keyDecodingStrategy
{
    note(
        "decoder's defaults", freshDecoder.userInfo.isEmpty && freshDecoder.nilDecodingStrategy.isNull(Int?.none as Any)
    )
}
note("shared", isShared(freshEncoder) && isShared(freshDecoder) && isShared(NilCodingStrategy.default))
let shared: [any Sendable] = [
    KeyValueEncoder.KeyEncodingStrategy.useDefaultKeys, KeyValueEncoder.DateEncodingStrategy.date,
    KeyValueDecoder.KeyDecodingStrategy.useDefaultKeys, KeyValueDecoder.DateDecodingStrategy.date,
    KeyValueDecoder.IntDecodingStrategy.exact,
]
note("strategies", shared.count)

// The parameter of a closure needs no type, and a number object is a flag.
let reader = { try decoder.decode(Int.self, from: $0) }
note("closure", try reader(5))
note("flags", try decoder.decode([Bool].self, from: [NSNumber(value: 1), NSNumber(value: 0)]))

// Errors name the path.
note("kind", try decoder.decode([Seafood].self, from: [["name": 1]] as [Any]))
note("missing", try decoder.decode([Seafood].self, from: [["tags": ["a"]]] as [Any]))
note("array", try decoder.decode(Seafood.self, from: [1, 2]))

// Integer strategies.
note("exact", try decoder.decode(Int.self, from: 10.5))
decoder.intDecodingStrategy = .rounding(rule: .toNearestOrAwayFromZero)
note("rounding", try decoder.decode(Int.self, from: 10.5))
decoder.intDecodingStrategy = .clamping(roundingRule: .toNearestOrAwayFromZero)
note("clamping", try decoder.decode([Int8].self, from: [10, 20.5, 1000, -Double.infinity] as [Any]))
decoder.intDecodingStrategy = .clamping(roundingRule: nil)
note("clamping integers", try decoder.decode(UInt8.self, from: -5))
decoder.intDecodingStrategy = KeyValueDecoder.IntDecodingStrategy.exact

// Date strategies.
let day = Date(timeIntervalSince1970: 1.5)
for strategy in [KeyValueEncoder.DateEncodingStrategy.date, .millisecondsSince1970, .secondsSince1970, .iso8601()] {
    encoder.dateEncodingStrategy = strategy
    note("date", try encoder.encode(day).map { type(of: $0) })
}
encoder.dateEncodingStrategy = .iso8601(options: [.withInternetDateTime, .withFractionalSeconds])
note("fraction", try encoder.encode(day))
encoder.dateEncodingStrategy = .custom { "\($0.timeIntervalSince1970)" }
note("custom", try encoder.encode([day]))
encoder.dateEncodingStrategy = .date
let readers: [(KeyValueDecoder.DateDecodingStrategy, Any)] = [
    (.date, Date(timeIntervalSince1970: 2)), (.millisecondsSince1970, 2000), (.secondsSince1970, 2),
    (.iso8601(), "1970-01-01T00:00:02Z"), (.iso8601(options: [.withFullDate]), "1970-01-01"),
    (.custom { Date(timeIntervalSince1970: Double("\($0)") ?? 0) }, "2"),
]
for (strategy, value) in readers {
    decoder.dateDecodingStrategy = strategy
    note("read", try decoder.decode(Date.self, from: value).timeIntervalSince1970)
}
decoder.dateDecodingStrategy = .date

// Key strategies.
struct Named: Codable, Equatable { var firstName: String, homeURL: String }
encoder.keyEncodingStrategy = .convertToSnakeCase
decoder.keyDecodingStrategy = .convertFromSnakeCase
let named = Named(firstName: "a", homeURL: "b")
note("snake", (try encoder.encode(named) as? [String: Any])?.keys.sorted())
note("camel", try decoder.decode(Named.self, from: encoder.encode(named) as Any) == named)
encoder.keyEncodingStrategy = KeyValueEncoder.KeyEncodingStrategy.useDefaultKeys
decoder.keyDecodingStrategy = KeyValueDecoder.KeyDecodingStrategy.useDefaultKeys

// Nil strategies.
let holes: [Int?] = [1, nil]
encoder.nilEncodingStrategy = .default
note("default", (try encoder.encode(holes) as? [Any])?.count)
encoder.nilEncodingStrategy = .removed
note("removed", try encoder.encode(holes))
note("removed alone", try encoder.encode(Int?.none))
encoder.nilEncodingStrategy = .stringNull
note("string", try encoder.encode(holes))
encoder.nilEncodingStrategy = .nsNull
note("null", (try encoder.encode(holes) as? [Any])?.last is NSNull)
let placeholder = NilCodingStrategy.placeholder(-1, isNull: { $0 as? Int == -1 })
encoder.nilEncodingStrategy = placeholder
decoder.nilDecodingStrategy = placeholder
note("placeholder", try encoder.encode(holes))
note("holes", try decoder.decode([Int?].self, from: [1, -1]) == holes)
decoder.nilDecodingStrategy = .stringNull
note("text", try decoder.decode([Int?].self, from: [1, "$null"] as [Any]) == holes)
let strategies: [NilCodingStrategy] = [.default, .removed, .stringNull, .nsNull]
note("isNull", strategies.map { $0.isNull(nil) && !$0.isNull(0 as Any) })
let alias: KeyValueEncoder.NilEncodingStrategy = .removed
note("alias", alias.isNull(Int?.none as Any))

// UserDefaults.
let suite = "kvcodable.compatibility.\(UUID().uuidString)"
if let defaults = UserDefaults(suiteName: suite) {
    try defaults.encode(fish, forKey: "fish")
    note("stored", try defaults.decode(Seafood.self, forKey: "fish") == fish)
    let stored: Seafood? = try defaults.decode(forKey: "fish")
    note("stored price", stored?.price)
    note("absent", try defaults.decode([Int].self, forKey: "none"))
    defaults.set("YES", forKey: "flag")
    note("flag", try defaults.decode(Bool.self, forKey: "flag"))
    try defaults.encode(Seafood?.none, forKey: "fish")
    note("removed key", defaults.object(forKey: "fish"))
    defaults.removePersistentDomain(forName: suite)
}
