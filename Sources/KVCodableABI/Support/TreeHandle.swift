internal import PropertyLists

/// The object behind a `kv_tree`. Immutable.
final class TreeHandle {
    let list: PropertyList

    init(_ list: PropertyList) {
        self.list = list
    }
}

func giveTree(_ list: PropertyList, _ result: UnsafeMutablePointer<OpaquePointer?>?) {
    result?.pointee = Handle.give(TreeHandle(list))
}

func tree(_ handle: OpaquePointer?, _ name: String) throws(Failure) -> PropertyList {
    try require(handle, TreeHandle.self, name).list
}
