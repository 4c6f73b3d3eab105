import KVCodable
import PropertyLists
import TestSupport
import Testing

/// Values over defaults, as a view, a property and a call of `decode` give them.
@Suite struct TypedViewTests {
    struct Frame: Codable, Equatable, Sendable { var x = 0, y = 0 }

    enum Shape: Codable, Equatable, Sendable {
        case circle(radius: Double, note: String?)
        case empty
    }

    struct Window: Codable, Equatable, Sendable {
        var width = 640
        var title: String?
        var frame = Frame()
        var shape = Shape.circle(radius: 1, note: "x")
        var levels: [String: Int] = [:]
    }

    let store: DefaultsStore

    init() throws { store = try memoryStore() }

    @Test("a missing key has its default, and nothing is stored")
    func decodes() throws {
        #expect(try store.decode(forKey: "window", defaults: Window()) == Window())
        try store.set(["frame": ["x": 5]], at: ["window"])
        #expect(try store.decode(forKey: "window", defaults: Window()) == Window(frame: Frame(x: 5)))
        #expect(try store.decode(Frame.self, at: ["window", "frame"], defaults: Frame()) == Frame(x: 5))
        let property = Preference(wrappedValue: Window(), "window", in: store)
        #expect(property.wrappedValue == Window(frame: Frame(x: 5)))
        #expect(try store.stored(at: ["window"]) == ["frame": ["x": 5]])
        try store.set(["width": "wide"], at: ["window"])
        let error = #expect(throws: DecodingError.self) { try store.decode(forKey: "window", defaults: Window()) }
        guard case .typeMismatch(_, let context)? = error else { throw try #require(error) }
        #expect(context.debugDescription.hasSuffix("at window.width, found String"))
    }

    @Test("a member of a view is read over defaults, and a write stores its path")
    func members() throws {
        let view = store.typed(Window.self, forKey: "window", defaults: Window())
        #expect(view.width == 640 && view.title == nil && view.value == Window())
        view.width = 3
        #expect(try store.stored(at: ["window"]) == ["width": 3])
        view.frame.x = 5
        view.title = "Main"
        #expect(try store.stored(at: ["window", "title"])?.string == "Main")
        try store.set("kept", at: ["window", "unknown"])
        try store.set(8, at: ["window", "width"])
        try view.update { $0.frame.y = 7 }
        let expected = Window(width: 8, title: "Main", frame: Frame(x: 5, y: 7))
        #expect(view.value == expected)
        #expect(
            try store.stored(at: ["window"])
                == ["width": 8, "title": "Main", "frame": ["x": 5, "y": 7], "unknown": "kept"])
        #expect(view.error() == nil)
        try view.reset()
        #expect(view.value == Window())
    }

    @Test("a view says what was wrong, and a write over a wrong value changes nothing")
    func faults() throws {
        let view = store.typed(Window.self, forKey: "window", defaults: Window())
        try store.set(["width": "wide"], at: ["window"])
        #expect(view.width == 640 && view.error() is DecodingError)
        view.title = "x"
        #expect(view.error() is DecodingError)
        #expect(try store.stored(at: ["window"]) == ["width": "wide"])
        #expect(throws: DecodingError.self) { try view.update { $0.width = 3 } }
        struct Stop: Error {}
        try store.remove(at: ["window"])
        #expect(throws: Stop.self) {
            try view.update { window in
                window.width = 3
                throw Stop()
            }
        }
        #expect(try store.stored(at: ["window"]) == nil)
    }

    // proves: G15
    @Test("get after set gives what was set, whatever the defaults are")
    func law() throws {
        let shapes: [Shape] = [.circle(radius: 2, note: nil), .circle(radius: 3, note: "y"), .empty]
        var random = SeededGenerator(seed: 11)
        func number() -> Int { Int.random(in: 0..<3, using: &random) }
        func window() -> Window {
            Window(width: number(), frame: Frame(x: number(), y: number()), shape: shapes[number()])
        }
        for round in 0..<300 {
            if round % 10 == 0 { try store.remove(at: ["window"]) }
            let defaults = window()
            let view = store.typed(forKey: "window", defaults: defaults)
            let property = Preference(wrappedValue: defaults, "window", in: store)
            if number() == 0 { _ = (view.value, property.wrappedValue) }
            var value = window()
            switch number() {
            case 0: view.value = value
            case 1: property.wrappedValue = value
            default:
                value = view.value
                value.shape = shapes[number()]
                view.shape = value.shape
            }
            #expect(view.error() == nil && property.error() == nil)
            #expect(view.value == value && property.wrappedValue == value, "over \(defaults)")
        }
    }

    @Test("what a set leaves out does not come back from the defaults")
    func unset() throws {
        let view = store.typed(forKey: "window", defaults: Window(title: "Main", levels: ["a": 1]))
        try view.update { $0 = Window(width: 3) }
        #expect(view.title == nil && view.levels == [:])
        view.title = "Again"
        #expect(view.title == "Again" && view.levels == [:])
    }
}
