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
