/// The bounds that keep hostile input from exhausting the stack.
enum CodingLimits {
    /// Values inside values. The deepest level costs about a dozen frames; 512 levels stay well inside the half
    /// megabyte of a secondary thread, sanitizers included.
    static let depth = 512

    /// Optionals inside optionals inside one `Any`, unwrapped by recursion.
    static let optionals = 64
}
