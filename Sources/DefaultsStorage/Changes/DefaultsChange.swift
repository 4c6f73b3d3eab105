public import PropertyLists

/// A difference between a value that a watch has told of and the present one.
///
/// ```swift
/// let watch = try store.watch(.everything) { change in
///     switch (change.old, change.new) {
///     case (nil, let new?): print("\(change.path) is new: \(new)")
///     case (let old?, let new?): print("\(change.path) was \(old), is \(new)")
///     case (_, nil): print("\(change.path) is gone")
///     }
/// }
/// ```
public struct DefaultsChange: Sendable, Hashable {
    /// The path that has changed, from the root of the store; as deep as the watch's ``DefaultsScope`` looks.
    public var path: PropertyListPath
    /// The value before; nil if the value is new.
    public var old: PropertyList?
    /// The present value; nil if the value was removed.
    public var new: PropertyList?

    public static func == (left: DefaultsChange, right: DefaultsChange) -> Bool {
        left.path == right.path && left.old == right.old && left.new == right.new
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(path) }
}

extension DefaultsChange {
    /// A change for each path at which two values differ, down to values that are no dictionaries.
    static func between(
        _ old: PropertyList?, _ new: PropertyList?, below path: PropertyListPath = []
    ) -> [DefaultsChange] {
        var changes: [DefaultsChange] = []
        compare(old, new, at: path, into: &changes)
        return changes
    }

    /// Recursion is bounded by the depth limit of documents.
    private static func compare(
        _ old: PropertyList?, _ new: PropertyList?, at path: PropertyListPath, into changes: inout [DefaultsChange]
    ) {
        guard old != new else { return }
        guard let old, let new, old.kind == .dictionary, new.kind == .dictionary else {
            changes.append(DefaultsChange(path: path, old: old, new: new))
            return
        }
        for (key, value) in old.entries { compare(value, new[key], at: path.appending(.key(key)), into: &changes) }
        for (key, value) in new.entries where old[key] == nil {
            changes.append(DefaultsChange(path: path.appending(.key(key)), old: nil, new: value))
        }
    }
}
