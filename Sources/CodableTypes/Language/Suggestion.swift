/// Names, to find the one among them that was most likely meant by another: at most a third of it differs, counting a
/// wrong, missing, extra or swapped letter as one.
///
/// Made once, it looks for many names: names that have too few letters in common are passed over.
///
/// ```swift
/// let names = CloseNames(["volume", "theme"])
/// print(names.closest(to: "volme") ?? "none")  // volume
/// ```
///
/// The Lua module has a search of its own for the names of methods (`lua/src/classes.c`): it knows the headers alone,
/// and a function in the contract for it would serve no other program.
public struct CloseNames: Sendable {
    private struct Name {
        let text: String
        let letters: [Unicode.Scalar]
        /// A bit for each letter that is there: 64 of them, by the letters' numbers.
        let bits: UInt64

        /// nil for a longer text than a name has.
        init?(_ text: String) {
            guard text.utf8.count <= 4 * 64 else { return nil }
            self.text = text
            letters = Array(text.lowercased().unicodeScalars)
            guard letters.count <= 64 else { return nil }
            bits = letters.reduce(0) { $0 | 1 << UInt64($1.value & 63) }
        }

        /// Whether the names have so much in common that they may be close: each change of one letter adds one to the
        /// letters that are there and takes one away.
        func mayBeClose(to other: Name, within most: Int) -> Bool {
            abs(letters.count - other.letters.count) <= most && (bits ^ other.bits).nonzeroBitCount <= 2 * most
        }
    }

    private let names: [Name]

    /// Of very many names only the first are looked at.
    public init(_ names: [String]) { self.names = names.prefix(4_096).compactMap(Name.init) }

    /// The name that was most likely meant; nil where none is close.
    public func closest(to given: String) -> String? {
        guard let given = Name(given) else { return nil }
        var best: (name: String, distance: Int)?
        for name in names {
            let most = max(1, max(given.letters.count, name.letters.count) / 3)
            guard given.mayBeClose(to: name, within: most) else { continue }
            let distance = editDistance(given.letters, name.letters, within: most)
            if distance <= most, distance < best?.distance ?? .max { best = (name.text, distance) }
        }
        return best?.name
    }
}

func closest(to given: String, among names: [String]) -> String? { CloseNames(names).closest(to: given) }

/// The optimal string alignment distance (Damerau-Levenshtein without overlapping swaps); any larger number than `most`
/// for a larger one.
private func editDistance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar], within most: Int) -> Int {
    var older = Array(repeating: 0, count: right.count + 1)
    var previous = Array(0...right.count)
    for (row, letter) in left.enumerated() {
        var current = [row + 1]
        for (column, other) in right.enumerated() {
            var distance = min(previous[column + 1] + 1, current[column] + 1)
            distance = min(distance, previous[column] + (letter == other ? 0 : 1))
            if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                distance = min(distance, older[column - 1] + 1)
            }
            current.append(distance)
        }
        // Each later row begins from these two.
        guard current.contains(where: { $0 <= most }) || previous.contains(where: { $0 <= most }) else { return .max }
        (older, previous) = (previous, current)
    }
    return previous[right.count]
}
