internal import PropertyLists

/// The key of an element of an array.
struct IndexKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { index = intValue }
    init?(stringValue: String) { return nil }

    var intValue: Int? { index }
    var stringValue: String { "Index \(index)" }
}

/// A key known by its text alone: a dictionary's, or the name of a superclass.
struct NameKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }

    /// The key of a superclass's part, as in Foundation's coders.
    static let superclass = NameKey("super")
}

/// The key of a value in the one around it, which ends its path; none where both have the same path.
///
/// Not an Optional of the key: copies and ends of that one are looked up in its type at run time, at 100 instructions
/// each, and of this one are known to the compiler. It is handed on as a closure that makes it: most values need none.
enum LastKey {
    case none
    case key(any CodingKey)

    var coding: (any CodingKey)? { if case .key(let key) = self { key } else { nil } }
}

extension [any CodingKey] {
    func appending(_ key: LastKey) -> [any CodingKey] {
        if case .key(let key) = key { self + [key] } else { self }
    }

    /// The path as errors print it: from the coded value, `SELF.names[2]`, or, where that has a location in a holder,
    /// from the holder's root, `window.names[2]`.
    func text(in location: PropertyListPath?) -> String {
        reduce(into: location == nil || isEmpty ? "SELF" : "") { $0.append(step: $1) }
    }
}

extension String {
    fileprivate mutating func append(step key: any CodingKey) {
        if let index = key.intValue {
            self += "[\(index)]"
        } else {
            self += isEmpty ? key.stringValue : ".\(key.stringValue)"
        }
    }
}

extension PropertyListPath {
    var codingPath: [any CodingKey] {
        steps.map { step in
            switch step {
            case .key(let name): NameKey(name)
            case .index(let index): IndexKey(index)
            }
        }
    }
}
