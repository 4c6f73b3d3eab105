/// A value of a class that this module does not know, as the coders are to see it.
///
/// The face over full Foundation makes the NS types conform.
package protocol ForeignValue {
    /// The value in Swift's own types, one level deep: a `[String: Any]` or `[Any]` may hold foreign values again.
    /// Nil where Swift has no such value, as for a dictionary whose keys are not strings.
    var swiftValue: Any? { get }
}
