/// The bounds that keep hostile input from exhausting the stack.
enum CodingLimits {
    /// Values inside values. A level takes one to two kilobytes of stack, the frames of the type's own code among them:
    /// 512 levels take up to one megabyte, two without optimisation. A thread has eight on Linux, unless it was given
    /// fewer.
    static let depth = 512

    /// Optionals inside optionals inside one `Any`, unwrapped by recursion.
    static let optionals = 64
}
