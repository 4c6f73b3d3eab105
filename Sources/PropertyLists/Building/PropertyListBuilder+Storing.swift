internal import CKVCodable

/// Steps that only the readers of this room need: text that is written in pieces, and a dictionary that turns out to be
/// a UID.
extension PropertyListBuilder {
    /// Appends a string or data whose bytes were appended to `bytes` from `start` on; a string's are valid UTF-8.
    mutating func append(
        storedFrom start: Int, as kind: PropertyListKind
    ) throws(PropertyListError) {
        let count = bytes.count &- start
        guard count <= PropertyListLimits.length else { throw tooLong(count) }
        try admit()
        nodes.append(kv_node(kind: kind, count: count, payload: UInt64(truncatingIfNeeded: start)))
    }

    /// Appends a key whose bytes, valid UTF-8, were appended to `bytes` from `start` on.
    mutating func appendKey(storedFrom start: Int) throws(PropertyListError) {
        let count = bytes.count &- start
        guard count <= PropertyListLimits.length else { throw tooLong(count) }
        guard slot == .key else { throw error(.misuse, "a key where a value is expected") }
        var node = kv_node(kind: .null, count: count, payload: UInt64(truncatingIfNeeded: start))
        node.distance = nodes.count &- header
        keys.append(node)
        slot = .value
    }

    @usableFromInline func tooLong(_ count: Int) -> PropertyListError {
        error(.limitExceeded, "\(count) bytes are more than one value can hold")
    }

    /// The number of the UID that the open dictionary stands for, `{CF$UID: integer}`; nil for any other dictionary.
    var uidOfOpenDictionary: UInt32? {
        guard slot == .key, nodes.count == header + 2, frames.count > 0 else { return nil }
        guard keys.count == frames[frames.count - 1].firstKey + 1 else { return nil }
        let value = nodes[header + 1]
        guard value.kind == .integer, let uid = UInt32(exactly: Int64(bitPattern: value.payload)) else { return nil }
        let key = keys[keys.count - 1]
        let name = bytes.contents
        return name[Int(key.payload)..<(Int(key.payload) + Int(key.count))].elementsEqual("CF$UID".utf8) ? uid : nil
    }

    /// Closes the open dictionary and replaces it by a UID.
    mutating func endDictionary(asUID uid: UInt32) throws(PropertyListError) {
        let position = header
        try end()
        nodes.count = position
        nodes.append(kv_node(kind: .uid, payload: UInt64(uid)))
    }
}
