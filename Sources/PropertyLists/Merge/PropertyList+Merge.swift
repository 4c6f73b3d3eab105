extension PropertyList {
    /// Combines the changes that two sides made to one value.
    ///
    /// `nil` means that there is no value. Ours is the side that is saved last; to prefer the other side, swap the
    /// arguments. The rules:
    ///
    /// 1. A side that did not change a value takes the other side's value. Equal changes are one change.
    /// 2. Dictionaries are merged by key and arrays by element, at every depth.
    /// 3. A change wins over a removal, on either side.
    /// 4. An array or dictionary that became a value of another kind wins over changes inside it, on either side.
    /// 5. Of two different changes of one value, ours wins.
    /// 6. A dictionary whose only key was replaced by another only key, as `Codable` writes enums, became another kind.
    ///
    /// Elements of arrays are recognised by a distinct `id`, `uuid`, `identifier`, `name` or `key` where all of them
    /// are dictionaries that have one, otherwise by their values and order. Added elements are kept, theirs in front
    /// of ours, but at the front of the array ours first. Arrays of as many numbers are merged by position. Of arrays
    /// with more than 50,000 elements that both sides changed, ours is kept whole.
    ///
    /// ```swift
    /// let saved: PropertyList = ["volume": 5, "recent": ["a"]]
    /// let merged = try PropertyList.merge(
    ///     ancestor: saved, ours: ["volume": 7, "recent": ["a"]], theirs: ["volume": 5, "recent": ["a", "b"]])
    /// print(merged.value ?? [:])  // ["recent": ["a", "b"], "volume": 7]
    /// ```
    ///
    /// Takes time proportional to the size of the three values times their depth.
    ///
    /// - Throws: ``PropertyListError/Code/limitExceeded`` if the result is larger than `limits` allow.
    public static func merge(
        ancestor: PropertyList?, ours: PropertyList?, theirs: PropertyList?,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> Merge {
        try merge(ancestor: ancestor, ours: ours, theirs: theirs, rules: MergeRules(), limits: limits)
    }

    /// As the public function, by the rules of a schema or of a typed set.
    package static func merge(
        ancestor: PropertyList?, ours: PropertyList?, theirs: PropertyList?, rules: MergeRules,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> Merge {
        var merger = TreeMerger(rules: rules, limits: limits)
        let value = try merger.merge(ancestor, ours, theirs)
        return Merge(value: value, conflicts: merger.conflicts, dropped: merger.dropped)
    }
}

/// What a merge must know beside the three values.
package struct MergeRules {
    /// True if ours wins in each conflict: a typed set's "theirs" are the keys that its type does not know.
    package var oursWins = false
    /// Whether the dictionary at a path is a declared enum with associated values: two cases are never mixed.
    package var isVariant: ((PropertyListPath) -> Bool)?

    package init(oursWins: Bool = false, isVariant: ((PropertyListPath) -> Bool)? = nil) {
        self.oursWins = oursWins
        self.isVariant = isVariant
    }
}

/// Merges values into a builder; the walk knows its path for the conflicts that it reports.
struct TreeMerger: ~Copyable {
    /// What becomes of one value.
    private enum Outcome {
        case absent
        case value(PropertyList)
        /// Both sides changed inside it.
        case both(PropertyList, PropertyList)
    }

    let rules: MergeRules
    private(set) var conflicts: [MergeConflict] = []
    /// The number of elements that our side removed and their side had changed, where ours wins.
    private(set) var dropped = 0
    private var steps: [PropertyListPath.Step] = []
    private var builder: PropertyListBuilder

    init(rules: MergeRules, limits: PropertyListLimits) {
        self.rules = rules
        builder = PropertyListBuilder(limits: limits)
    }

    mutating func merge(
        _ ancestor: PropertyList?, _ ours: PropertyList?, _ theirs: PropertyList?
    ) throws(PropertyListError) -> PropertyList? {
        switch outcome(ancestor, ours, theirs) {
        case .absent: return nil
        case .value(let value): return value
        case .both(let ours, let theirs):
            try write(ancestor, ours, theirs)
            return try builder.finish()
        }
    }

    // MARK: - Rules

    private mutating func outcome(
        _ ancestor: PropertyList?, _ ours: PropertyList?, _ theirs: PropertyList?
    ) -> Outcome {
        if ancestor == theirs || ours == theirs { return Self.outcome(ours) }
        if ancestor == ours { return Self.outcome(theirs) }
        guard let ours, let theirs else {
            return keep(ours == nil ? .theirs : .ours, ours, theirs)
        }
        guard ours.kind == theirs.kind, ours.kind.isContainer else {
            if let outcome = emptied(ancestor, ours, theirs) { return outcome }
            let isInsideTheirs = ancestor.map { $0.kind.isContainer && $0.kind == ours.kind } ?? false
            return keep(isInsideTheirs ? .theirs : .ours, ours, theirs)
        }
        if ours.kind == .dictionary, let side = sideWithNewCase(ancestor, ours, theirs) {
            return keep(side, ours, theirs)
        }
        return .both(ours, theirs)
    }

    /// The outcome where one side's empty dictionary stands for an empty array: some languages have one empty table for
    /// both.
    private func emptied(_ ancestor: PropertyList?, _ ours: PropertyList, _ theirs: PropertyList) -> Outcome? {
        func isEmptied(_ side: PropertyList, beside other: PropertyList) -> Bool {
            side.kind == .dictionary && side.count == 0 && other.kind == .array && ancestor?.kind == .array
        }
        let none: PropertyList = []
        if isEmptied(ours, beside: theirs) { return .both(none, theirs) }
        return isEmptied(theirs, beside: ours) ? .both(ours, none) : nil
    }

    private static func outcome(_ value: PropertyList?) -> Outcome { value.map { .value($0) } ?? .absent }

    private mutating func keep(
        _ side: MergeConflict.Side, _ ours: PropertyList?, _ theirs: PropertyList?
    ) -> Outcome {
        if rules.oursWins {
            if ours == nil, case .index? = steps.last { dropped += 1 }
            return Self.outcome(ours)
        }
        conflicts.append(MergeConflict(path: PropertyListPath(steps), ours: ours, theirs: theirs, kept: side))
        return Self.outcome(side == .ours ? ours : theirs)
    }

    /// The side to keep of dictionaries that stand for enums and have become another case; nil where both are merged
    /// by key.
    ///
    /// Without a schema only three dictionaries with one key each are taken for enums: a side that added a key to the
    /// old one would lose it.
    private func sideWithNewCase(
        _ ancestor: PropertyList?, _ ours: PropertyList, _ theirs: PropertyList
    ) -> MergeConflict.Side? {
        let old = ancestor.flatMap { $0.kind == .dictionary ? $0 : nil }
        let looksLikeEnum = old?.count == 1 && ours.count == 1 && theirs.count == 1
        guard looksLikeEnum || rules.isVariant?(PropertyListPath(steps)) ?? false else { return nil }
        guard let old else { return Self.areSameCase(ours, theirs) ? nil : .ours }
        // By key, a removal of ours takes the old case away, and keys beside it stay.
        if rules.oursWins { return Self.areSameCase(old, theirs) ? nil : .ours }
        guard Self.areSameCase(old, ours) else { return .ours }
        return Self.areSameCase(old, theirs) ? nil : .theirs
    }

    /// Whether two enums have the same case. Other keys may stand beside the case's.
    private static func areSameCase(_ first: PropertyList, _ second: PropertyList) -> Bool {
        let (fewer, more) = first.count <= second.count ? (first, second) : (second, first)
        return fewer.count > 0 && fewer.keys.allSatisfy { more[$0] != nil }
    }

    // MARK: - Containers

    /// Recursion is bounded by ``PropertyListLimits/maximumDepth``, which the values keep.
    private mutating func write(
        _ ancestor: PropertyList?, _ ours: PropertyList, _ theirs: PropertyList
    ) throws(PropertyListError) {
        let ancestor = ancestor.flatMap { $0.kind == ours.kind ? $0 : nil }
        if ours.kind == .dictionary {
            try builder.beginDictionary()
            try writeEntries(ancestor, ours, theirs)
        } else {
            try builder.beginArray()
            try writeElements(ancestor, ours, theirs)
        }
        try builder.end()
    }

    private mutating func writeEntries(
        _ ancestor: PropertyList?, _ ours: PropertyList, _ theirs: PropertyList
    ) throws(PropertyListError) {
        // A key that neither side has is gone.
        for pair in EntryPairs(ours, theirs) {
            let key = pair.key
            if let ours = pair.left, ours == pair.right {
                try builder.key(key)
                try builder.append(ours)
                continue
            }
            try write(ancestor?[key], pair.left, pair.right, as: .key(key))
        }
    }

    private mutating func writeElements(
        _ ancestor: PropertyList?, _ ours: PropertyList, _ theirs: PropertyList
    ) throws(PropertyListError) {
        let merge = ArrayMerge(
            ancestor: ancestor.map { Array($0.elements) } ?? [], ours: Array(ours.elements),
            theirs: Array(theirs.elements))
        guard let merge else {
            conflicts.append(MergeConflict(path: PropertyListPath(steps), ours: ours, theirs: theirs, kept: .ours))
            for element in ours.elements { try builder.append(element) }
            return
        }
        var index = 0
        for element in merge.elements
        where try write(element.ancestor, element.ours, element.theirs, as: .index(index)) { index += 1 }
    }

    /// Writes one value of a container; says whether there is one.
    @discardableResult
    private mutating func write(
        _ ancestor: PropertyList?, _ ours: PropertyList?, _ theirs: PropertyList?,
        as step: PropertyListPath.Step
    ) throws(PropertyListError) -> Bool {
        steps.append(step)
        defer { steps.removeLast() }
        let outcome = outcome(ancestor, ours, theirs)
        if case .absent = outcome { return false }
        if case .key(let key) = step { try builder.key(key) }
        switch outcome {
        case .absent: break
        case .value(let value): try builder.append(value)
        case .both(let ours, let theirs): try write(ancestor, ours, theirs)
        }
        return true
    }
}
