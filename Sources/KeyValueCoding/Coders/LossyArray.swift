/// An array that leaves out the elements which cannot be decoded, and keeps the index and the error of each.
///
/// ```swift
/// struct Library: Codable {
///     @LossyArray var books: [Book]
/// }
/// for element in library.$books { print(element.index, element.error) }
/// ```
///
/// A value that is no array is an error as ever, and so is a missing key: `@Default.Empty var books: LossyArray<Book>`
/// takes that for an empty array. Encoded as the array of the elements that are there. Works with every coder.
@propertyWrapper public struct LossyArray<Element> {
    /// The elements that could be decoded, in order.
    public var wrappedValue: [Element]
    /// The elements that decoding left out, in order.
    public private(set) var dropped: [DroppedElement] = []

    /// An array from which nothing was left out.
    public init(wrappedValue: [Element]) { self.wrappedValue = wrappedValue }

    /// The elements that decoding left out, in order: `$books`.
    public var projectedValue: [DroppedElement] { dropped }
}

/// An element of an array that could not be decoded.
///
/// ```swift
/// let numbers = try KeyValueDecoder().decode(LossyArray<Int>.self, from: [1, "two", 3] as [Any])
/// print(numbers.wrappedValue)  // [1, 3]
/// for element in numbers.dropped { print(element) }  // [1]: Expected BinaryInteger at SELF[1], found String
/// ```
public struct DroppedElement: Error, Sendable, CustomStringConvertible {
    /// Its index in the array that was decoded, counted from 0.
    public let index: Int
    /// The error that its decoding threw.
    public let error: any Error

    public var description: String { "[\(index)]: \(message(of: error))" }
}

extension LossyArray: Decodable where Element: Decodable {
    public init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        wrappedValue = []
        while !container.isAtEnd {
            let index = container.currentIndex
            do {
                wrappedValue.append(try container.decode(Element.self))
            } catch {
                dropped.append(DroppedElement(index: index, error: error))
                try container.skip(elementAt: index)
            }
        }
    }
}

extension UnkeyedDecodingContainer {
    /// Goes past an element that could not be decoded. Some coders are past it already, others take it for any type.
    fileprivate mutating func skip(elementAt index: Int) throws {
        if currentIndex == index { _ = try? decode(Skipped.self) }
        if currentIndex == index { _ = try? decodeNil() }
        if currentIndex == index { _ = try superDecoder() }
        guard currentIndex > index else {
            throw DecodingError.dataCorruptedError(in: self, debugDescription: "Cannot go past element \(index)")
        }
    }
}

/// Decodes from any value, without reading it.
private struct Skipped: Decodable {
    init(from decoder: any Decoder) { (decoder as? DecodingNode)?.record?.takeWhole() }
}

extension LossyArray: Encodable where Element: Encodable {
    public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension LossyArray: Equatable where Element: Equatable {
    public static func == (left: Self, right: Self) -> Bool { left.wrappedValue == right.wrappedValue }
}

extension LossyArray: Hashable where Element: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

extension LossyArray: Sendable where Element: Sendable {}

extension LossyArray: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Element...) { self.init(wrappedValue: elements) }
}
