/// The name that was most likely meant: at most a third of it differs, counting a wrong, missing, extra or swapped
/// letter as one. Nil where none is close. Of very many names only the first are looked at.
///
/// The Lua module has one of its own for the names of methods (`lua/src/options.c`): it knows the headers alone, and a
/// function in the contract for it would serve no other program.
func closest(to given: String, among names: [String]) -> String? {
    guard given.utf8.count <= 4 * 64 else { return nil }
    let letters = Array(given.lowercased().unicodeScalars)
    guard letters.count <= 64 else { return nil }
    var best: (name: String, distance: Int)?
    for name in names.prefix(4_096) {
        guard name.utf8.count <= 4 * 64 else { continue }
        let other = Array(name.lowercased().unicodeScalars)
        guard other.count <= 64 else { continue }
        let distance = editDistance(letters, other)
        guard distance <= max(1, max(letters.count, other.count) / 3) else { continue }
        if distance < best?.distance ?? .max { best = (name, distance) }
    }
    return best?.name
}

/// The optimal string alignment distance (Damerau-Levenshtein without overlapping swaps).
private func editDistance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
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
        (older, previous) = (previous, current)
    }
    return previous[right.count]
}
