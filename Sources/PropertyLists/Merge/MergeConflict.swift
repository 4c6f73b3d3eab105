/// Two changes of a merge that cannot both be kept.
///
/// ```swift
/// let merged = try PropertyList.merge(ancestor: ["size": 1], ours: ["size": 2], theirs: ["size": 3])
/// for conflict in merged.conflicts { print(conflict) }  // size: kept ours
/// print(merged.value?["size"]?.integer ?? 0)  // 2
/// ```
public struct MergeConflict: Sendable, Equatable {
    /// The side whose change is in the result.
    ///
    /// ```swift
    /// let merged = try PropertyList.merge(ancestor: ["size": 1], ours: [:], theirs: ["size": 3])
    /// print(merged.conflicts[0].kept)  // theirs
    /// ```
    public enum Side: Sendable, Equatable {
        /// The side that is saved last.
        case ours
        /// The side that was saved before.
        case theirs
    }

    /// The path of the value in the result.
    public var path: PropertyListPath
    /// Our value; nil if our side removed it.
    public var ours: PropertyList?
    /// Their value; nil if their side removed it.
    public var theirs: PropertyList?
    /// The side whose value was kept, as a whole.
    public var kept: Side

    /// Makes a conflict of two values at a path.
    public init(path: PropertyListPath, ours: PropertyList?, theirs: PropertyList?, kept: Side) {
        self.path = path
        self.ours = ours
        self.theirs = theirs
        self.kept = kept
    }
}

extension MergeConflict: CustomStringConvertible {
    /// The path and the side that was kept: `window.size: kept ours`.
    public var description: String { "\(path): kept \(kept == .ours ? "ours" : "theirs")" }
}

/// What a merge gives: a value, and the changes that it could not keep.
///
/// ```swift
/// let merged = try PropertyList.merge(ancestor: [:], ours: ["a": 1], theirs: ["b": 2])
/// print(merged.value ?? [:], merged.conflicts.count)  // ["a": 1, "b": 2] 0
/// ```
public struct Merge: Sendable, Equatable {
    /// The merged value; nil if both sides left none.
    public var value: PropertyList?
    /// In the order of the walk: keys by their bytes, elements from the front.
    public var conflicts: [MergeConflict]
    /// Under ``MergeRules/oursWins`` the number of elements that our side removed and their side had changed.
    package var dropped = 0
}
