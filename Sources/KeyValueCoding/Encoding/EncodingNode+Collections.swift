// Arrays and dictionaries of scalars, written as a whole.
//
// An overridden generic method is never specialised for its types, and costs several times as much for each element:
// so the way parts here, where the compiler sees both the type and the node.

extension EncodingNode {
    /// Writes an array of scalars, which the strategies leave as they are.
    final func write<S: ScalarValue>(elements: [S], at slot: EncodingSlot) throws {
        switch self {
        case let node as AnyEncodingNode: node.put(elements.map { $0 as Any }, at: slot)
        case let node as TreeEncodingNode: try node.append(elements: elements, at: slot)
        default: break
        }
    }

    /// Writes a dictionary of scalars, which the strategies leave as they are.
    final func write<S: ScalarValue>(entries: [String: S], at slot: EncodingSlot) throws {
        switch self {
        case let node as AnyEncodingNode: node.put(entries.mapValues { $0 as Any }, at: slot)
        case let node as TreeEncodingNode: try node.append(entries: entries, at: slot)
        default: break
        }
    }
}
