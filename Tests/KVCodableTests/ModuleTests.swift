import Foundation
import KVCodable
import Synchronization
import Testing

// No other module of the package is imported: what a program needs comes with KVCodable.

private struct Library: Codable, Equatable, Sendable {
    @Default.Empty var tags: [String]
    @Default.False var isOpen: Bool
    var opened: Date

    static func == (left: Self, right: Self) -> Bool {
        left.tags == right.tags && left.isOpen == right.isOpen && left.opened == right.opened
    }
}

private struct Settings {
    @Preference var volume: Int
    @Preference var shelf: Library?

    init(_ store: DefaultsStore) {
        _volume = Preference(wrappedValue: 7, "volume", in: store)
        _shelf = Preference(wrappedValue: nil, "library", in: store)
    }
}

@Suite struct ModuleTests {
    let store: DefaultsStore

    init() throws { store = try memoryStore() }

    @Test("properties of a store and properties with defaults stand side by side")
    func wrappers() throws {
        let settings = Settings(store)
        #expect(settings.shelf == nil)
        try store.set(PropertyList(any: ["opened": Date(timeIntervalSince1970: 3)]), at: ["library"])
        #expect(settings.shelf?.tags == [])
        settings.shelf?.tags.append("a")
        settings.volume += 1
        #expect(settings.$shelf.error() == nil)
        #expect(try store.decode([String].self, at: ["library", "tags"]) == ["a"])
        #expect(try store.decode(Int.self, forKey: "volume") == 8)
        settings.shelf = nil
        #expect(try store.value(forKey: "library") == nil)
    }

    @Test("strategies are set without another import")
    func strategies() throws {
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.keyEncodingStrategy = .convertToSnakeCase
        var decoder = KeyValueDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let library = Library(opened: Date(timeIntervalSince1970: 5))
        try store.encode(library, forKey: "library", encoder: encoder)
        #expect(try store.value(at: ["library", "is_open"])?.boolean == false)
        #expect(try store.value(at: ["library", "opened"])?.integer == 5)
        #expect(try store.decode(Library.self, forKey: "library", decoder: decoder) == library)
    }

    @Test("an error's localized description is its message")
    func localizedDescriptions() throws {
        try store.set(PropertyList(any: ["a": 1]), at: [])
        var strict = KeyValueDecoder()
        let told = Mutex("")
        strict.leftOverKeyDecodingStrategy = .report { left in told.withLock { $0 = left.localizedDescription } }
        let defaults = #expect(throws: DefaultsError.self) { try store.encode(1, at: ["a", "b"]) }
        #expect(defaults?.localizedDescription == "Expected Dictionary at a, found Int")
        let list = #expect(throws: PropertyListError.self) { try PropertyList(any: ["x": [Date?.self]]) }
        #expect(list?.localizedDescription == list?.description)
        #expect(list?.path == ["x", 0])
        let type = #expect(throws: TypeError.self) { try TypeRegistry().declare("struct S { volume: Itn }") }
        #expect(type?.localizedDescription == "No type is named Itn; did you mean Int? (line 1, column 20)")
        struct Empty: Codable {
            init() {}
            init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: CodingKeys.self) }
            enum CodingKeys: CodingKey {}
        }
        try store.set(PropertyList(any: ["b": 1]), at: ["a"])
        _ = try store.decode(Empty.self, forKey: "a", decoder: strict)
        #expect(told.withLock { $0 } == "a.b")
    }
}
