import CodableTypes
import PropertyLists
import Testing

/// The type of an expression over the types of a text.
func makeType(_ expression: String, _ declarations: String = "") throws -> CodableType {
    let registry = TypeRegistry()
    try registry.declare(declarations)
    return try registry.type(expression)
}

/// The error that `body` throws; nil when it throws none.
func caught(_ body: () throws -> Void) -> TypeError? {
    do {
        try body()
        return nil
    } catch {
        return error as? TypeError
    }
}

let window = """
    struct Window {
        width: Int(1...16384)
        title: String? @key(window_title)
        tags: [String] = []
        theme: Theme = dark
        draft: Int @transient
    }
    enum Theme: String { light, dark }
    """

/// A value, an expression or a text as a parameter of a test.
struct Row: CustomTestStringConvertible, @unchecked Sendable {
    let text: String
    let given: Any
    let wanted: Any

    init(_ text: String, _ given: Any, _ wanted: Any) {
        self.text = text
        self.given = given
        self.wanted = wanted
    }

    var testDescription: String { "\(text): \(given) to \(wanted)" }
}
