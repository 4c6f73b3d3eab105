internal import Glibc
public import PropertyLists

// The getters of UserDefaults under their own names, with Apple's coercions: a value that cannot be coerced gives the
// type's zero, or nil. The store's own `value` never coerces. They read the stored form, whatever the schema says.
extension DefaultsStore {
    /// True for a true boolean, a number other than 0, and a string that begins with "y", "t" or a whole number other
    /// than 0, in either case, behind white space.
    public func bool(forKey key: String) throws(DefaultsError) -> Bool {
        guard let value = try stored(forKey: key) else { return false }
        if let boolean = value.boolean { return boolean }
        if let text = value.string { return truth(of: text) }
        if let integer = value.integer { return integer != 0 }
        return value.unsigned != nil || (value.real ?? 0) != 0
    }

    /// A whole number; of a real the part before the point, of a boolean 1 or 0, of a string the number that it begins
    /// with.
    public func integer(forKey key: String) throws(DefaultsError) -> Int {
        guard let value = try stored(forKey: key) else { return 0 }
        if let integer = value.integer { return Int(clamping: integer) }
        if let unsigned = value.unsigned { return Int(clamping: unsigned) }
        if let boolean = value.boolean { return boolean ? 1 : 0 }
        if let real = value.real { return Self.whole(real) }
        return value.string.map { strtol($0, nil, 10) } ?? 0
    }

    private static func whole(_ real: Double) -> Int {
        if real.isNaN { return 0 }
        return Int(exactly: real.rounded(.towardZero)) ?? (real < 0 ? Int.min : Int.max)
    }

    /// A real number; of an integer its value, of a boolean 1 or 0, of a string the decimal number that it begins with,
    /// in every locale.
    public func double(forKey key: String) throws(DefaultsError) -> Double {
        guard let value = try stored(forKey: key) else { return 0 }
        if let real = value.real { return real }
        if let integer = value.integer { return Double(integer) }
        if let unsigned = value.unsigned { return Double(unsigned) }
        if let boolean = value.boolean { return boolean ? 1 : 0 }
        return value.string.map(leadingReal) ?? 0
    }

    /// As ``double(forKey:)``, rounded.
    public func float(forKey key: String) throws(DefaultsError) -> Float { Float(try double(forKey: key)) }

    /// A string, or a number or boolean as text; nil for other kinds.
    public func string(forKey key: String) throws(DefaultsError) -> String? {
        guard let value = try stored(forKey: key) else { return nil }
        if let text = value.string { return text }
        if let integer = value.integer { return "\(integer)" }
        if let unsigned = value.unsigned { return "\(unsigned)" }
        if let boolean = value.boolean { return boolean ? "1" : "0" }
        guard let real = value.real else { return nil }
        return real == real.rounded() && abs(real) < 1e15 ? "\(Int(real))" : "\(real)"
    }

    /// A copy of a data value's bytes; nil for another kind and for an absent key.
    public func data(forKey key: String) throws(DefaultsError) -> [UInt8]? { try stored(forKey: key)?.data }

    /// An array; nil for another kind.
    public func array(forKey key: String) throws(DefaultsError) -> PropertyList? {
        let value = try stored(forKey: key)
        return value?.kind == .array ? value : nil
    }

    /// A dictionary; nil for another kind.
    public func dictionary(forKey key: String) throws(DefaultsError) -> PropertyList? {
        let value = try stored(forKey: key)
        return value?.kind == .dictionary ? value : nil
    }

    /// An array of nothing but strings; nil for other values.
    public func stringArray(forKey key: String) throws(DefaultsError) -> [String]? {
        guard let array = try array(forKey: key) else { return nil }
        var result: [String] = []
        for element in array.elements {
            guard let text = element.string else { return nil }
            result.append(text)
        }
        return result
    }
}
