import PropertyLists
import TestSupport
import Testing

@testable import CodableTypes

// Of several faults, the walks beside a plan report the one that a plain walk in the order of declaration meets first.

private enum Direction { case decoding, encoding }

/// The plain walk: it follows the type's declaration, makes nothing and throws at the first fault.
private struct PlainCheck {
    let direction: Direction

    func check(_ value: PropertyList, _ form: CodableType.Form) throws(TypeError) {
        switch form {
        case .scalar(let scalar): _ = try scalar.form(of: value)
        case .any: if value.isNull { throw .mismatch("Any", value) }
        case .array(let element, let length): try checkArray(value, element, length)
        case .dictionary(let element):
            try expectDictionary(value)
            for (key, inner) in value.entries { try check(inner, element, at: .key(key)) }
        case .optional(let wrapped): if !value.isNil { try check(value, wrapped) }
        case .defaulted(let wrapped, _): try check(value, wrapped)
        case .structure(let structure): try checkStructure(value, structure)
        case .variant(let variant): try checkVariant(value, variant)
        case .enumeration(let enumeration): _ = try enumeration.form(of: value)
        case .swift(let type): _ = try type.decode(value)
        case .reference(let reference): try check(value, try reference.resolved())
        }
    }

    private func check(
        _ value: PropertyList, _ form: CodableType.Form, at step: PropertyListPath.Step
    ) throws(TypeError) {
        do throws(TypeError) {
            try check(value, form)
        } catch {
            throw error.placed(at: step)
        }
    }

    private func expectDictionary(_ value: PropertyList) throws(TypeError) {
        guard value.kind == .dictionary else { throw .mismatch("Dictionary<String, Any>", value) }
    }

    private func checkArray(
        _ value: PropertyList, _ element: CodableType.Form, _ length: TypeBounds<Int>?
    ) throws(TypeError) {
        let isEmptyTable = direction == .encoding && value.kind == .dictionary && value.count == 0
        guard value.kind == .array || isEmptyTable else { throw .mismatch("Array<Any>", value) }
        if let length { try checkLength(value.count, length, "elements") }
        for (index, inner) in value.elements.enumerated() { try check(inner, element, at: .index(index)) }
    }

    private func checkStructure(_ value: PropertyList, _ structure: StructureType) throws(TypeError) {
        try expectDictionary(value)
        for field in structure.fields where !field.isTransient {
            let name = direction == .decoding ? field.key : field.name
            guard let inner = value[name], !(field.isOptional && inner.isNil) else {
                if field.mayBeAbsent { continue }
                try checkNames(of: value, structure)
                throw .missingField(name, field.type)
            }
            try check(inner, field.type, at: .key(name))
        }
        try checkNames(of: value, structure)
    }

    private func checkNames(of value: PropertyList, _ structure: StructureType) throws(TypeError) {
        guard direction == .encoding else { return }
        guard let given = value.keys.first(where: { structure.field(named: $0) == nil }) else { return }
        throw .unknownField(given, of: structure.name, among: structure.fields.map(\.name))
    }

    private func checkVariant(_ value: PropertyList, _ variant: VariantType) throws(TypeError) {
        guard value.kind == .dictionary else { throw variant.wrongKind(value) }
        let unknown = value.keys.first { variant.values(ofCase: $0) == nil }
        if direction == .encoding, let unknown {
            throw variant.unknownCase(unknown)
        }
        let known = value.entries.filter { variant.values(ofCase: $0.key) != nil }
        guard known.count == 1, let (name, inner) = known.first, let values = variant.values(ofCase: name) else {
            throw variant.wrongCount(known.count, only: value.count == 1 ? value.keys.first : nil)
        }
        try check(inner, .structure(values), at: .key(name))
    }
}

private struct Damage {
    private var numbers: SeededGenerator

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

    mutating func below(_ bound: Int) -> Int { Int(numbers.next() % UInt64(bound)) }

    /// The value with one part replaced, removed, renamed or added.
    mutating func damaged(_ value: Any) -> Any {
        if var array = value as? [Any], !array.isEmpty, below(8) > 0 {
            let index = below(array.count)
            array[index] = damaged(array[index])
            return array
        }
        if var dictionary = value as? [String: Any], !dictionary.isEmpty, below(8) > 0 {
            let keys = dictionary.keys.sorted()
            let key = keys[below(keys.count)]
            switch below(7) {
            case 0: dictionary[key] = nil
            case 1: dictionary[["A", "m", "~", "widht"][below(4)]] = below(5)
            default: dictionary[key] = damaged(dictionary[key] ?? 0)
            }
            return dictionary
        }
        let others: [Any] = [
            true, 5, 300, 2.0, 2.5, "text", "$null", "low", [Any](), [1, "a"] as [Any], [String: Any](), ["a": 1],
            [1, 2, 3, 4, 5],
        ]
        return others[below(others.count)]
    }
}

@Suite("Which of several faults is reported") struct FaultOrderTests {
    private static let declarations = """
        struct Whole {
            zeta: Int(1...100)
            parts: [Part](0...4) @key(alpha)
            eta: String? @key(omega)
            named: [String: Part] = [:]
            shape: Shape
            theme: Theme @key(b)
            beta: Bool
            level: Level = low @key(a)
            scratch: Any @transient
            more: Any?
        }
        struct Part { y: Double @key(d); x: Int @key(e) ; note: String(1...5)? @key(c); inner: Part? @key(f) }
        enum Shape { dot(Part), line(from: Part, to: Part), none }
        enum Theme: String { light, dark }
        enum Level: Int { low, high = 10 }
        """

    private static func part(_ direction: Direction) -> [String: Any] {
        let inner: [String: Any] = direction == .decoding ? ["d": 1.0, "e": 2] : ["y": 1.0, "x": 2]
        return inner.merging(direction == .decoding ? ["c": "n", "f": inner] : ["note": "n", "inner": inner]) { $1 }
    }

    private static func whole(_ direction: Direction) -> [String: Any] {
        let part = part(direction)
        let both: [String: Any] = [
            "zeta": 5, "named": ["p": part, "q": part], "shape": ["line": ["from": part, "to": part]], "beta": true,
            "more": [1, "x"] as [Any],
        ]
        let renamed: [String: Any] =
            direction == .decoding
            ? ["alpha": [part, part], "omega": "e", "b": "dark", "a": 10]
            : ["parts": [part, part], "eta": "e", "theme": "dark", "level": 10]
        return both.merging(renamed) { $1 }
    }

    @Test("the first in the order of declaration, on generated values", arguments: ["decoding", "encoding"])
    func order(_ name: String) throws {
        let direction = name == "decoding" ? Direction.decoding : .encoding
        let registry = TypeRegistry()
        try registry.declare(Self.declarations)
        let type = try registry.type("[Whole]")
        let plain = PlainCheck(direction: direction)
        var rejections = 0
        for seed in 0..<UInt64(3000) {
            var damage = Damage(seed: seed)
            var value: Any = [Self.whole(direction), Self.whole(direction)]
            for _ in 0..<damage.below(5) { value = damage.damaged(value) }
            let list = try PropertyList(any: value)
            var (expected, found): (TypeError?, TypeError?)
            do throws(TypeError) { try plain.check(list, type.form) } catch { expected = error }
            do throws(TypeError) {
                _ = direction == .decoding ? try type.decode(list) : try type.encode(list).list
            } catch {
                found = error
            }
            if expected != nil { rejections += 1 }
            guard found == expected else {
                Issue.record("\(seed): \(found.map { "\($0)" } ?? "nil"), not \(expected.map { "\($0)" } ?? "nil")")
                return
            }
        }
        #expect(rejections > 1000 && rejections < 2700)
    }

    @Test("a misspelt field is told before one that is missing, and after a wrong one that is declared before it")
    func misspelt() throws {
        let type = try makeType("Pair", "struct Pair { second: Int; first: Int }")
        var error = try typeError { _ = try type.encode(try tree(["secnd": 1, "first": "x"] as [String: Any])) }
        #expect(error.description == "Pair has no field secnd; did you mean second?")
        error = try typeError { _ = try type.encode(try tree(["second": "x", "frist": 1] as [String: Any])) }
        #expect(error.description == "Expected BinaryInteger at second, found String")
        error = try typeError { _ = try type.encode(try tree(["second": 1])) }
        #expect(error.description == "Dictionary does not contain key first")
    }

    @Test("a value that is nested too deeply is told before any fault in it")
    func depth() throws {
        let type = try makeType("Deep", "struct Deep { a: Int; rest: Any }")
        var inner = try tree([Any]())
        for _ in 0..<600 {
            var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
            try builder.beginArray()
            try builder.append(inner)
            try builder.end()
            inner = try builder.finish()
        }
        let limits = PropertyListLimits(depth: PropertyListLimits.maximumDepth)
        let value = try tree(["a": "x"]).setting(inner, at: ["rest"], limits: limits)
        for body in [{ _ = try type.decode(value) }, { _ = try type.encode(value) }] as [() throws -> Void] {
            #expect(try typeError(body).description == "Values are nested deeper than 512 levels")
        }
    }
}
