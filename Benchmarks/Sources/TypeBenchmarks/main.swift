import KVCodable
import PropertyLists

// Declared types over 1,000 records of 10 mixed fields: nanoseconds a field, medians of 101 runs.

let fields = """
    id: Int; name: String; weight: Double; isOpen: Bool; kind: Kind; tags: [String]; limits: [String: Int]
    note: String?; place: Place; level: Int(0...100)
    """
let parts = " struct Place { x: Double; y: Double } enum Kind: String { file, folder, link }"
let registry = TypeRegistry()
try registry.declare("struct Record { \(fields) }" + parts)
try registry.declare("struct Renamed { \(fields.replacing("name: String", with: "name: String @key(title)")) }")
let record = try registry.type("[Record]")
let renamed = try registry.type("[Renamed]")

func records(_ name: String, unknown: Bool = false) throws -> PropertyList {
    try PropertyList(
        any: (0..<1000).map { number -> [String: Any] in
            var value: [String: Any] = [
                "id": number, name: "record \(number)", "weight": Double(number) + 0.5, "isOpen": number % 2 == 0,
                "kind": ["file", "folder", "link"][number % 3], "tags": ["a", "b"], "limits": ["low": 1, "high": 2],
                "note": "a note", "place": ["x": 1.5, "y": 2.5], "level": number % 100,
            ]
            if unknown { value["later"] = number }
            return value
        })
}

func measure(_ name: String, _ expected: PropertyList, _ body: () throws -> PropertyList) throws {
    guard try body() == expected else { fatalError("\(name): another value") }
    let clock = ContinuousClock()
    let times = try (0..<101).map { _ in try clock.measure { _ = try body() } }.sorted()
    let nanoseconds = Double(times[50].components.attoseconds) / 1e9
    print("\(name): \((nanoseconds / 100).rounded() / 100) ns a field")
}

let plain = try records("name")
let titled = try records("title")
let unknown = try records("name", unknown: true)
try measure("decode, the same in both forms", plain) { try record.decode(plain) }
try measure("encode, over an equal value", plain) { try record.encode(plain, over: plain).list }
try measure("encode, over nothing", plain) { try record.encode(plain).list }
try measure("decode, one field renamed", plain) { try renamed.decode(titled) }
try measure("encode, one field renamed, over the same", titled) { try renamed.encode(plain, over: titled).list }
try measure("decode, one key unknown", plain) { try record.decode(unknown) }
try measure("encode, one key unknown and kept", unknown) { try record.encode(plain, over: unknown).list }
