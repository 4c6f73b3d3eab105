/// A value in an object of its own, which takes one word where it stands.
///
/// Errors are kept so. Each call that may throw has room on the stack for an error, and the walks over values call
/// themselves for each level: with errors of 150 bytes in place, a value of 400 levels took 2.2 MB of stack to encode
/// by its type, and takes 1.0 MB so.
@propertyWrapper
package indirect enum Boxed<Value: Hashable & Sendable>: Hashable, Sendable {
    case value(Value)

    @inlinable package init(wrappedValue: Value) { self = .value(wrappedValue) }

    @inlinable package var wrappedValue: Value {
        get {
            switch self {
            case .value(let value): value
            }
        }
        set { self = .value(newValue) }
    }
}
