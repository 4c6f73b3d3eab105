internal import CKVCodable

/// Numbers for the elements of three arrays: two elements have the same number if they are the same element.
///
/// Where all elements are dictionaries with a distinct identifier, it decides. Otherwise the whole value does.
struct ElementTable {
    private static let identifiers = ElementIdentity.fields
    private static let changeable = ["name", "key"]

    /// Of the ancestor, ours and theirs.
    let arrays: [[PropertyList]]
    let numbers: [[Int]]
    /// The field that identifies an element; nil if the whole value does.
    let identity: String?

    init(_ ancestor: [PropertyList], _ ours: [PropertyList], _ theirs: [PropertyList]) {
        arrays = [ancestor, ours, theirs]
        var known: [Element: Int] = [:]
        for field in Self.identifiers {
            guard let numbers = Self.numbers(of: arrays, by: field, &known) else { continue }
            (self.numbers, identity) = (numbers, field)
            return
        }
        numbers = arrays.map { array in array.map { Self.number(of: $0, &known) } }
        identity = nil
    }

    /// Whether a changed element may be recognised by its other entries.
    var recognisesByEntries: Bool { identity.map { Self.changeable.contains($0) } ?? true }

    /// Whether all elements are numbers or Booleans.
    var isNumeric: Bool {
        arrays.allSatisfy { array in
            array.allSatisfy { $0.number != nil || $0.boolean != nil }
        }
    }

    /// Nil unless the field is a distinct text or whole number in all elements of each array.
    private static func numbers(
        of arrays: [[PropertyList]], by field: String, _ known: inout [Element: Int]
    ) -> [[Int]]? {
        var result: [[Int]] = []
        for array in arrays {
            var numbers: [Int] = []
            var isTaken: Set<Int> = []
            for element in array {
                guard let value = element[field],
                    value.kind == .string || value.kind == .integer || value.kind == .unsigned
                else { return nil }
                let number = number(of: value, &known)
                guard isTaken.insert(number).inserted else { return nil }
                numbers.append(number)
            }
            result.append(numbers)
        }
        return result
    }

    private static func number(of value: PropertyList, _ known: inout [Element: Int]) -> Int {
        let next = known.count
        let element = Element(value: value)
        if let number = known[element] { return number }
        known[element] = next
        return next
    }

    /// Whether two dictionaries share half of the entries of the larger.
    static func shareHalf(_ first: PropertyList, _ second: PropertyList) -> Bool {
        guard first.kind == .dictionary, second.kind == .dictionary else { return false }
        var shared = 0
        for (key, value) in first.entries where second[key] == value { shared += 1 }
        return shared > 0 && 2 * shared >= max(first.count, second.count)
    }
}

/// The fields that identify an element of an array.
package enum ElementIdentity {
    /// The first that fits counts. The last two may be changed.
    static let fields = ["id", "uuid", "identifier", "name", "key"]

    /// Whether two dictionaries have different identifiers.
    package static func differs(_ first: PropertyList, _ second: PropertyList) -> Bool {
        guard let field = fields.dropLast(2).first(where: { first[$0] != nil }) else { return false }
        return second[field] != nil && first[field] != second[field]
    }
}

/// An element by its value. The whole of it is hashed: elements that begin alike would each be compared with all
/// others.
private struct Element: Hashable {
    let value: PropertyList

    func hash(into hasher: inout Hasher) { Self.hash(value.document, value.index, into: &hasher) }

    /// Recursion is bounded by ``PropertyListLimits/maximumDepth``.
    private static func hash(_ document: Document, _ index: Int, into hasher: inout Hasher) {
        let node = document.nodes[index]
        hasher.combine(node.head)
        hasher.combine(node.count)
        switch node.kind {
        case .string, .data: hasher.combine(bytes: UnsafeRawBufferPointer(document.buffer(of: node)))
        case .array:
            var element = index + 1
            for _ in 0..<node.count {
                hash(document, element, into: &hasher)
                element += document.nodes[element].span
            }
        case .dictionary:
            for slot in document.keys(ofDictionaryAt: index) {
                let key = document.nodes[slot]
                // By its bytes: a text hashes as others do that Unicode takes for the same.
                hasher.combine(bytes: UnsafeRawBufferPointer(document.buffer(of: key)))
                hash(document, index + key.distance, into: &hasher)
            }
        default: hasher.combine(node.payload)
        }
    }
}
