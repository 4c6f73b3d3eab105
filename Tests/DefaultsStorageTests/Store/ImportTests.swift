import DefaultsStorage
import Foundation
import PropertyLists
import Testing

@Suite struct ImportTests {
    private func memory() throws -> DefaultsStore {
        try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
    }

    // proves: G52
    @Test("exports what another store imports, in every format", arguments: [PropertyListFormat.xml, .binary, .json])
    func formats(format: PropertyListFormat) throws {
        let content = try list(["a": ["b": [1, 2]], "c": "text", "d": true])
        let store = try memory()
        try store.set(content, at: [])
        let other = try memory()
        try other.set(list(9), at: ["kept"])
        try other.import(store.exported(as: format))
        #expect(try other.remove(at: ["kept"]))
        #expect(try other.snapshot() == content)
    }

    @Test("imports OpenStep text, and a keyed archive without its classes")
    func sources() throws {
        let store = try memory()
        try store.import(Array("{ a = (1, two); b = <0102>; }".utf8))
        #expect(try store.snapshot() == list(["a": ["1", "two"], "b": Data([1, 2])]))
        let archive = NSDictionary(dictionary: [
            "a": NSArray(array: ["x", NSNumber(value: 5)]), "n": NSNumber(value: true),
        ])
        let data = try NSKeyedArchiver.archivedData(withRootObject: archive, requiringSecureCoding: false)
        try store.import([UInt8](data))
        #expect(try store.snapshot() == list(["a": ["x", 5], "b": Data([1, 2]), "n": true]))
    }

    // proves: G38, G52
    @Test("imports all or nothing")
    func faults() throws {
        let store = try memory()
        try store.set(list(1), at: ["a"])
        let expected = DefaultsError(.invalidValue, expected: "Dictionary as what is imported", found: "Array")
        #expect(throws: expected) { try store.import(Array("[1]".utf8)) }
        #expect(throws: DefaultsError.self) { try store.import(Array("<plist>".utf8)) }
        let error = #expect(throws: DefaultsError.self) { try store.import(Array("{\"a\": 2, \"b\": null}".utf8)) }
        #expect(error?.code == .invalidValue && error?.path == ["b"])
        #expect(try store.snapshot() == list(["a": 1]))
    }
}
