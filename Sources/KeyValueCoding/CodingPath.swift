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

    /// Under which a superclass's part is written and read, as by Foundation's coders.
    static let superclass = NameKey("super")
}

extension [any CodingKey] {
    /// The path as errors print it: `SELF.names[2]`.
    var text: String {
        reduce(into: "SELF") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += ".\(key.stringValue)"
            }
        }
    }
}
