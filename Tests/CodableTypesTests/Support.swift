import CodableTypes
import PropertyLists
import Testing

/// The tree of an `Any`; nil stands for null.
func tree(_ value: Any?) throws -> PropertyList {
    guard let value else {
        var builder = PropertyListBuilder()
        try builder.appendNull()
        return try builder.finish()
    }
    return try PropertyList(any: value)
}

/// A registry with the types that most tests use.
func sampleRegistry() throws -> TypeRegistry {
    let registry = TypeRegistry()
    try registry.declare(
        """
        // The types that the tests declare.
        struct Window {
            width: Int(1...16384)
            title: String? @key(window_title)
            tags: [String] = []
            theme: Theme = dark
            scratch: Any @transient
        }
        enum Theme: String { light, dark }
        enum Level: Int { low = 0, high = 10 }
        struct Point { x: Double; y: Double }
        struct Shape { name: String; points: [Point]; label: Point? }
        struct Node { value: Int; children: [Node]? }
        """)
    return registry
}

/// The error that `body` throws, which must be a `TypeError`.
func typeError(_ body: () throws -> Void) throws -> TypeError {
    try #require(throws: TypeError.self, performing: body)
}
