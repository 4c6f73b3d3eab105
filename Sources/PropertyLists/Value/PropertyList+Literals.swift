public import FoundationEssentials

// Literals, and conversions from and to Swift's types, for every kind of value.

extension PropertyList {
    /// Null, which memory and JSON can hold, and no property list.
    public static let null = PropertyList { builder throws(PropertyListError) in try builder.appendNull() }

    /// A value that the builder writes; null where that fails, which no file takes.
    private init(_ write: (inout PropertyListBuilder) throws(PropertyListError) -> Void) {
        var builder = PropertyListBuilder()
        do throws(PropertyListError) {
            try write(&builder)
            self = try builder.finish()
        } catch {
            self = .null
        }
    }

    /// True or false.
    public init(_ value: Bool) { self.init { builder throws(PropertyListError) in try builder.append(boolean: value) } }

    /// A whole number.
    public init(_ value: Int) { self.init(Int64(value)) }

    /// A whole number.
    public init(_ value: Int64) {
        self.init { builder throws(PropertyListError) in try builder.append(integer: value) }
    }

    /// A whole number; one within `Int64` is the same value as that.
    public init(_ value: UInt64) {
        self.init { builder throws(PropertyListError) in try builder.append(unsigned: value) }
    }

    /// A whole number.
    public init(_ value: UInt) { self.init(UInt64(value)) }

    /// A whole number.
    public init(_ value: Int32) { self.init(Int64(value)) }

    /// A whole number.
    public init(_ value: UInt32) { self.init(Int64(value)) }

    /// A whole number.
    public init(_ value: Int16) { self.init(Int64(value)) }

    /// A whole number.
    public init(_ value: UInt16) { self.init(Int64(value)) }

    /// A whole number.
    public init(_ value: Int8) { self.init(Int64(value)) }

    /// A whole number.
    public init(_ value: UInt8) { self.init(Int64(value)) }

    /// A floating-point number, as the double of the same value.
    public init(_ value: Float) { self.init(Double(value)) }

    /// A floating-point number.
    public init(_ value: Double) {
        self.init { builder throws(PropertyListError) in try builder.append(real: value) }
    }

    /// A string.
    public init(_ value: String) {
        self.init { builder throws(PropertyListError) in try builder.append(string: value) }
    }

    /// Data.
    public init(_ value: Data) {
        self.init { builder throws(PropertyListError) in try builder.append(data: [UInt8](value)) }
    }

    /// A date, with its fraction of a second.
    public init(_ value: Date) {
        self.init { builder throws(PropertyListError) in
            try builder.append(date: value.timeIntervalSinceReferenceDate)
        }
    }

    /// A keyed archive's reference.
    public init(_ value: PropertyListUID) {
        self.init { builder throws(PropertyListError) in try builder.append(uid: value.value) }
    }

    /// An array of values. Null where they are nested as deep as ``PropertyListLimits/depth`` already, which no literal
    /// is: for values of any depth there is ``PropertyListBuilder``, which throws.
    public init(_ elements: [PropertyList]) {
        self.init { builder throws(PropertyListError) in
            try builder.beginArray()
            for element in elements { try builder.append(element) }
            try builder.end()
        }
    }

    /// A dictionary of values; null as for an array.
    public init(_ entries: [String: PropertyList]) { self.init(pairs: Array(entries)) }

    private init(pairs: [(key: String, value: PropertyList)]) {
        self.init { builder throws(PropertyListError) in
            try builder.beginDictionary()
            for (key, value) in pairs {
                try builder.key(key)
                try builder.append(value)
            }
            try builder.end()
        }
    }
}

extension PropertyList: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    public init(booleanLiteral value: Bool) { self.init(value) }
    public init(integerLiteral value: Int64) { self.init(value) }
    public init(floatLiteral value: Double) { self.init(value) }
}

extension PropertyList: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self.init(value) }
}

extension PropertyList: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    /// An array, as `init(_:)` makes one.
    public init(arrayLiteral elements: PropertyList...) { self.init(elements) }

    /// A dictionary; of equal keys the last wins.
    public init(dictionaryLiteral pairs: (String, PropertyList)...) { self.init(pairs: pairs.map { ($0, $1) }) }
}

// MARK: - Back: nil for a value of another kind, and for a number that the type does not hold

// Disfavoured, since a tree has literals: `Data([1, 2])` and `Int("5")` mean what they meant.

extension Bool {
    /// True or false; nil for a value of another kind.
    @_disfavoredOverload
    public init?(_ list: PropertyList) {
        guard let value = list.boolean else { return nil }
        self = value
    }
}

extension FixedWidthInteger {
    /// A whole number; nil for a value of another kind, and for a number that the type does not hold.
    @_disfavoredOverload
    public init?(_ list: PropertyList) {
        guard let value = list.integer.flatMap(Self.init(exactly:)) ?? list.unsigned.flatMap(Self.init(exactly:)) else {
            return nil
        }
        self = value
    }
}

extension Double {
    /// A real, or a whole number as the nearest one; nil for a value of another kind.
    @_disfavoredOverload
    public init?(_ list: PropertyList) {
        guard let value = list.number else { return nil }
        self = value
    }
}

extension Float {
    /// A real or a whole number as the nearest float; nil for a value of another kind.
    @_disfavoredOverload
    public init?(_ list: PropertyList) {
        guard let value = list.number else { return nil }
        self = Float(value)
    }
}

extension String {
    /// A string; nil for a value of another kind. `description` shows every value.
    @_disfavoredOverload
    public init?(_ list: PropertyList) {
        guard let value = list.string else { return nil }
        self = value
    }
}

extension Data {
    /// The bytes of data; nil for a value of another kind.
    @_disfavoredOverload
    public init?(_ list: PropertyList) {
        guard let value = list.data else { return nil }
        self.init(value)
    }
}

extension Date {
    /// A date; nil for a value of another kind.
    @_disfavoredOverload
    public init?(_ list: PropertyList) {
        guard let value = list.date else { return nil }
        self.init(timeIntervalSinceReferenceDate: value)
    }
}

extension PropertyListUID {
    /// A keyed archive's reference; nil for a value of another kind.
    @_disfavoredOverload
    public init?(_ list: PropertyList) {
        guard let value = list.uid else { return nil }
        self.init(value)
    }
}

extension [PropertyList] {
    /// The elements of an array; nil for a value of another kind.
    @_disfavoredOverload
    public init?(_ list: PropertyList) {
        guard list.kind == .array else { return nil }
        self = Array(list.elements)
    }
}

extension [String: PropertyList] {
    /// The entries of a dictionary; nil for a value of another kind. Of keys that Swift takes for one, which
    /// ``PropertyList/entries`` has both, the last stands.
    @_disfavoredOverload
    public init?(_ list: PropertyList) {
        guard list.kind == .dictionary else { return nil }
        self.init(list.entries.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
    }
}
