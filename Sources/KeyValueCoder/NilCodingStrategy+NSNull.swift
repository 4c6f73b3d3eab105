internal import Foundation
public import KeyValueCoding

extension NilCodingStrategy {
    /// `NSNull()` stands for nil, as `JSONSerialization` gives and takes it.
    public static var nsNull: NilCodingStrategy {
        .placeholder(NSNull(), isNull: { $0 is NSNull })
    }
}
