internal import PropertyLists

/// The bounds that keep hostile input from exhausting the stack.
enum CodingLimits {
    /// Values inside values. A level takes one to two kilobytes of stack, the frames of the type's own code among them:
    /// 512 levels take up to one megabyte, two without optimisation. A thread has eight on Linux, unless it was given
    /// fewer.
    static let depth = PropertyListLimits.standardDepth

    /// Optionals inside optionals inside one `Any`, unwrapped by recursion.
    static let optionals = 64

    /// Error text for a value nested too deeply. The error's path has every level; the text has only the value's
    /// location.
    static func tooDeep(_ location: PropertyListPath?) -> String {
        let holder = location.map { $0.isEmpty ? "" : " at \($0)" } ?? ""
        return "Values\(holder) are nested deeper than \(depth) levels"
    }
}
