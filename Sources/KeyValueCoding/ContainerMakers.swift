/// Makers of keyed containers, by the types of their keys.
///
/// A container type is generic over its keys: to find it and its conformance again for each value costs a third of all
/// that a container costs. A maker has found them, and serves all values with keys of the type.
struct ContainerMakers {
    private struct Entry {
        var keys: ObjectIdentifier
        /// A maker for keys of the type; held here, so that it may be used for as long as the context lives.
        var maker: AnyObject
    }

    private var entries: [Entry] = []
    private static var limit: Int { 16 }

    @inline(__always) func known(for type: any Any.Type) -> AnyObject? {
        let keys = ObjectIdentifier(type)
        for entry in entries where entry.keys == keys { return entry.maker }
        return nil
    }

    mutating func add(_ maker: AnyObject, for type: any Any.Type) {
        if entries.count < Self.limit { entries.append(Entry(keys: ObjectIdentifier(type), maker: maker)) }
    }
}

/// A keyed container that writes to a node.
protocol NodeEncodingContainer: KeyedEncodingContainerProtocol {
    init(_ node: EncodingNode, converts: Bool)
}

class EncodingContainerMaker<Key: CodingKey> {
    func container(_ node: EncodingNode, converts: Bool) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedEncodingStore<Key>(node, converts: converts))
    }
}

/// Knows the container type itself, not just its keys.
final class StoreEncodingMaker<Store: NodeEncodingContainer>: EncodingContainerMaker<Store.Key> {
    override func container(_ node: EncodingNode, converts: Bool) -> KeyedEncodingContainer<Store.Key> {
        KeyedEncodingContainer(Store(node, converts: converts))
    }
}
