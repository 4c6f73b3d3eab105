internal import FoundationEssentials

/// Reads one value from an `Any`.
final class AnyDecodingNode: DecodingNode {
    private let value: Any
    private var entries: [String: Any] = [:]
    private var elements: [Any] = []

    init(_ context: DecodingContext, _ value: Any) {
        // The result of `encode` is an Optional, and often comes back as it is.
        self.value = unwrapped(value)
        super.init(context)
    }

    private init(_ value: Any, inside holder: DecodingNode, _ key: consuming LastKey, _ record: KeyRecord?) {
        self.value = value
        super.init(inside: holder, key, record)
    }

    override func makeChild(
        _ slot: DecodingSlot, _ key: () -> LastKey, _ record: KeyRecord?
    ) -> DecodingNode? {
        guard let value = any(at: slot) else { return nil }
        return AnyDecodingNode(value, inside: self, key(), record)
    }

    override func any(at slot: DecodingSlot) -> Any? {
        switch slot {
        case .named(let name): entries[name]
        case .index(let index): elements.indices.contains(index) ? elements[index] : nil
        case .whole: value
        }
    }

    override func scalar(at slot: DecodingSlot) -> Scalar {
        switch slot {
        case .named(let name):
            guard let value = entries[name] else { return .absent }
            return Scalar(in: value)
        case .index(let index):
            guard index < elements.count else { return .absent }
            return Scalar(in: elements[index])
        case .whole: return Scalar(in: value)
        }
    }

    override func typeName(at slot: DecodingSlot) -> String {
        guard let value = any(at: slot), let present = flattened(value) else { return "nil" }
        return "\(type(of: present))"
    }

    override func openEntries() -> Bool {
        guard var entries = stringKeyed(value) else { return false }
        // The entries of an earlier container end after the change.
        swap(&self.entries, &entries)
        return true
    }

    override func openElements() -> Bool {
        guard var elements = listed(value) else { return false }
        swap(&self.elements, &elements)
        return true
    }

    override var elementCount: Int { elements.count }

    override var names: [String] { Array(entries.keys) }
}

// MARK: - Whole collections

extension AnyDecodingNode {
    /// The elements of an array that are all of one type.
    func allElements<S: ScalarValue>(_ type: S.Type, at slot: DecodingSlot) -> [S]? {
        guard let value = any(at: slot) else { return nil }
        if Swift.type(of: value) == [S].self { return value as? [S] }
        guard let elements = listed(value) else { return nil }
        var result: [S] = []
        result.reserveCapacity(elements.count)
        for element in elements {
            guard let value = sameType(type, element) ?? S(Scalar(in: element)) else { return nil }
            result.append(value)
        }
        return result
    }

    /// The entries of a dictionary whose values are all of one type.
    func allEntries<S: ScalarValue>(_ type: S.Type, at slot: DecodingSlot) -> [String: S]? {
        guard let value = any(at: slot) else { return nil }
        if Swift.type(of: value) == [String: S].self { return value as? [String: S] }
        guard let entries = stringKeyed(value) else { return nil }
        return try? entries.mapValues { value throws(OtherType) in
            guard let value = sameType(type, value) ?? S(Scalar(in: value)) else { throw OtherType() }
            return value
        }
    }
}

/// The value in an `Any` if it is of exactly this type.
private func sameType<S: ScalarValue>(_ type: S.Type, _ value: Any) -> S? {
    func open<Value>(_ value: Value) -> S? { Value.self == S.self ? exactly(value, as: S.self) : nil }
    return open(value)
}

/// Ends the walk over a dictionary at a value of another type.
private struct OtherType: Error {}

/// The value in an Optional of Any, however many Optionals are inside that; else the same.
private func unwrapped(_ value: Any) -> Any {
    guard case .some(.some(let present)) = sameOptional(value) else { return value }
    return KnownType.of(type(of: present)) == .plain ? flattened(present) ?? value : present
}
