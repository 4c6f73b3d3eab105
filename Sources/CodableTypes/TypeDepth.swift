/// Counts how deeply a walk is in a value, so that no value makes it recurse far. Used by one walk, in one thread.
final class TypeDepth {
    /// How many containers a value may have in one another as far as its type describes them. What is below an `Any`
    /// is not walked, and not counted.
    static let maximum = 512

    private var level = 0

    func enter() throws(TypeError) {
        guard level < Self.maximum else { throw TypeError(.mismatch, "Deeper than \(Self.maximum) levels") }
        level += 1
    }

    func leave() { level -= 1 }
}
