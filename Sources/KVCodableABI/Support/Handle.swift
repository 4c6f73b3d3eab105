internal import DefaultsStorage
internal import PropertyLists

// KVCodableABI is the C API: a function for each declaration of kvcodable.h, in API's file of its section, which reads
// its arguments (Arguments), calls the room that does the work, and turns that one's errors into a status (Failure).

/// The object behind a C handle: a Swift object with one reference that the C program owns.
///
/// The use of unsafe memory rests on the header's rule that a handle is one that the library gave and that was not
/// freed. NULL is always let through as nil.
enum Handle {
    /// Gives the program a reference of its own.
    static func give(_ object: some AnyObject) -> OpaquePointer {
        OpaquePointer(Unmanaged.passRetained(object).toOpaque())
    }

    /// The object behind a handle, for the time of a call.
    static func borrow<Object: AnyObject>(_ handle: OpaquePointer?, as type: Object.Type) -> Object? {
        guard let handle else { return nil }
        return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
    }

    /// The object behind a handle, with the program's reference to it.
    @discardableResult
    static func take<Object: AnyObject>(_ handle: OpaquePointer?, as type: Object.Type) -> Object? {
        guard let handle else { return nil }
        return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).takeRetainedValue()
    }
}

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

/// The object behind a `kv_transaction`. That of a `kv_store` is the `DefaultsStore` itself.
final class TransactionHandle {
    let transaction: DefaultsTransaction

    init(_ transaction: DefaultsTransaction) {
        self.transaction = transaction
    }
}
