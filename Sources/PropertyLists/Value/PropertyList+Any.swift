internal import CKVCodable
internal import FoundationEssentials

/// A keyed archive's reference, as it stands in an `Any` tree.
///
/// ```swift
/// let list = try PropertyList(any: ["root": PropertyListUID(1)])
/// print(list["root"]?.uid ?? 0)  // 1
/// print(try list["root"]?.any() as? PropertyListUID == PropertyListUID(1))  // true
/// ```
public struct PropertyListUID: Sendable, Hashable {
    /// The number of the object in the archive's `$objects`, counted from 0.
    public var value: UInt32

    /// A reference to the object with this number.
    public init(_ value: UInt32) {
        self.value = value
    }
}

extension PropertyList {
    /// The tree of an `Any` made of Bool, the integers, Float, Double, String, Data, Date, ``PropertyListUID``, arrays
    /// and string-keyed dictionaries; nil stands for null; URL, UUID and Decimal become strings.
    ///
    /// - Throws: ``PropertyListError`` with the path of a value of any other type, or deeper than the limit.
    public init(any value: Any, limits: PropertyListLimits = PropertyListLimits()) throws(PropertyListError) {
        var builder = PropertyListBuilder(limits: limits)
        try builder.append(any: value)
        self = try builder.finish()
    }

    /// The value as Bool, Int64, UInt64, Double, String, Data, Date, ``PropertyListUID``, `[Any]` and
    /// `[String: Any]`; an integer that fits is an `Int`, a null is a nil inside the `Any`.
    ///
    /// - Throws: ``PropertyListError/Code/invalidValue`` where two keys of a dictionary are canonically equal, since
    ///   Swift's dictionary would merge them.
    public func any() throws(PropertyListError) -> Any {
        try any(at: [])
    }

    private func any(at path: PropertyListPath) throws(PropertyListError) -> Any {
        switch kind {
        case .null: return Any?.none as Any
        case .boolean: return node.payload != 0
        case .integer: return Int(exactly: Int64(bitPattern: node.payload)) ?? Int64(bitPattern: node.payload)
        case .unsigned: return node.payload
        case .real: return Double(bitPattern: node.payload)
        case .date: return Date(timeIntervalSinceReferenceDate: Double(bitPattern: node.payload))
        case .uid: return PropertyListUID(UInt32(truncatingIfNeeded: node.payload))
        case .string: return String(decoding: document.buffer(of: node), as: UTF8.self)
        case .data: return Data(document.buffer(of: node))
        case .array: return try anyElements(at: path)
        case .dictionary: return try anyEntries(at: path)
        }
    }

    private func anyElements(at path: PropertyListPath) throws(PropertyListError) -> [Any] {
        var result: [Any] = []
        result.reserveCapacity(count)
        for element in elements { result.append(try element.any(at: path.appending(.index(result.count)))) }
        return result
    }

    private func anyEntries(at path: PropertyListPath) throws(PropertyListError) -> [String: Any] {
        var result: [String: Any] = [:]
        result.reserveCapacity(count)
        for (key, value) in entries {
            guard result.updateValue(try value.any(at: path.appending(.key(key))), forKey: key) == nil else {
                throw PropertyListError(
                    .invalidValue, "Two keys differ only in their Unicode normalisation", at: path.appending(.key(key)))
            }
        }
        return result
    }
}

extension PropertyListBuilder {
    /// Appends the tree of an `Any`; see ``PropertyList/init(any:limits:)``.
    public mutating func append(any value: Any) throws(PropertyListError) {
        switch value {
        case let value as String: try append(string: value)
        case let value as Bool: try append(boolean: value)
        case let value as any BinaryInteger: try append(anyInteger: value)
        case let value as Double: try append(real: value)
        case let value as Float: try append(real: Double(value))
        case let value as Date: try append(date: value.timeIntervalSinceReferenceDate)
        case let value as Data: try append(data: [UInt8](value))
        case let value as [Any]: try append(anyElements: value)
        case let value as [String: Any]: try append(anyEntries: value)
        case let value as PropertyListUID: try append(uid: value.value)
        case let value as PropertyList: try append(value)
        case let value as URL: try append(string: value.absoluteString)
        case let value as UUID: try append(string: value.uuidString)
        case let value as Decimal: try append(string: value.description)
        default: try append(otherAny: value)
        }
    }

    private mutating func append(anyInteger value: any BinaryInteger) throws(PropertyListError) {
        if let integer = Int64(exactly: value) {
            try append(integer: integer)
        } else if let unsigned = UInt64(exactly: value) {
            try append(unsigned: unsigned)
        } else {
            throw error(.invalidValue, .expected("an integer of 64 bits", found: "\(value)"))
        }
    }

    private mutating func append(anyElements value: [Any]) throws(PropertyListError) {
        try beginArray()
        for element in value { try append(any: element) }
        try end()
    }

    private mutating func append(anyEntries value: [String: Any]) throws(PropertyListError) {
        try beginDictionary()
        for (key, value) in value {
            try self.key(key)
            try append(any: value)
        }
        try end()
    }

    private mutating func append(otherAny value: Any) throws(PropertyListError) {
        guard let optional = value as? any OptionalValue else {
            throw error(.invalidValue, .expected("a property-list value", found: "\(type(of: value))"))
        }
        if let wrapped = optional.wrapped { try append(any: wrapped) } else { try appendNull() }
    }
}

/// An Optional of any kind, so that one inside an `Any` or behind a type parameter can be looked into.
package protocol OptionalValue {
    /// The value, nil where there is none; one level only.
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    package var wrapped: Any? {
        guard Wrapped.self == Any.self else { return self }
        // Generic code that puts an `Any` into an `Any` would hide it inside. Sound because both types are one.
        return withUnsafePointer(to: self) { UnsafeRawPointer($0).assumingMemoryBound(to: Any?.self).pointee }
    }
}
