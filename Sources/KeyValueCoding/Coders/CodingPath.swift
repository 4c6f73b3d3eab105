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

extension [any CodingKey] {
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
