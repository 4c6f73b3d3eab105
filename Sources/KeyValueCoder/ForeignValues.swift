internal import Foundation
internal import KeyValueCoding

// Foundation's classes as the coders see them: one level at a time, so that an array which contains itself meets the
// coders' own limit on depth.
//
// On Linux NSArray and NSDictionary give a collection inside them converted with all that is in it, which does not end
// for one that contains itself, and overflows the program's stack. Both are `CustomReflectable`, and their mirrors show
// the elements as they are stored. Only the depth of what contains itself rests on that: where a mirror has other
// children, or another number of them, the elements are asked for one by one.

extension NSNull: ForeignValue {
    package var swiftValue: Any? { nil }
}

extension NSString: ForeignValue {
    /// Nil for text that is not Unicode: a surrogate without its other half.
    package var swiftValue: Any? { text }

    fileprivate var text: String? {
        var units = [unichar](repeating: 0, count: length)
        getCharacters(&units, range: NSRange(location: 0, length: length))
        return String(validating: units, as: UTF16.self)
    }
}

extension NSNumber: ForeignNumber {
    /// A Bool only from a number made of one.
    package var swiftValue: Any? {
        if let decimal = self as? NSDecimalNumber { return decimal.decimalValue }
        switch UInt8(bitPattern: objCType.pointee) {
        case UInt8(ascii: "c"), UInt8(ascii: "B"): return isBoolean ? boolValue : intValue
        case UInt8(ascii: "f"): return floatValue
        case UInt8(ascii: "d"): return doubleValue
        case UInt8(ascii: "Q"), UInt8(ascii: "L"): return uint64Value
        default: return int64Value
        }
    }

    /// There are just two numbers made of a Bool; Int8 has the same type code on some platforms.
    private var isBoolean: Bool { self === NSNumber(value: true) || self === NSNumber(value: false) }
}

extension NSData: ForeignValue {
    package var swiftValue: Any? { Data(referencing: self) }
}

extension NSDate: ForeignValue {
    package var swiftValue: Any? { Date(timeIntervalSinceReferenceDate: timeIntervalSinceReferenceDate) }
}

extension NSURL: ForeignValue {
    package var swiftValue: Any? { absoluteURL }
}

extension NSArray: ForeignValue {
    package var swiftValue: Any? {
        let stored = Mirror(reflecting: self).children
        // A subclass may keep its elements elsewhere.
        guard stored.count == count else { return (0..<count).map { self[$0] } }
        return stored.enumerated().map { index, child in isCollection(child.value) ? child.value : self[index] }
    }
}

extension NSDictionary: ForeignValue {
    /// Nil where a key is not a string.
    package var swiftValue: Any? {
        let stored = Mirror(reflecting: self).children
        var entries: [String: Any] = [:]
        entries.reserveCapacity(count)
        for child in stored {
            guard let (key, value) = child.value as? (key: NSObject, value: AnyObject) else { return byEnumeration }
            guard let name = (key as? NSString)?.text else { return nil }
            entries[name] = isCollection(value) ? value : self[key]
        }
        return stored.count == count ? entries : byEnumeration
    }

    /// The entries of a subclass, which may keep them elsewhere.
    private var byEnumeration: [String: Any]? {
        var entries: [String: Any] = [:]
        for (key, value) in self {
            guard let name = key as? String ?? (key as? NSString)?.text else { return nil }
            entries[name] = value
        }
        return entries
    }
}

/// Whether an element is a collection, which is taken as an object.
private func isCollection(_ value: Any) -> Bool { value is NSArray || value is NSDictionary || value is NSSet }

extension CGFloat: ForeignValue {
    package var swiftValue: Any? { Double(self) }
}

extension FullFoundation: ErrorDescriber {
    package static func message(of error: any Error) -> String { error.localizedDescription }
}
