extension PropertyListBuilder {
    /// A state of a builder that it can go back to.
    @usableFromInline package struct Mark: BitwiseCopyable {
        @usableFromInline var nodes = 0
        @usableFromInline var bytes = 0
        @usableFromInline var keys = 0
        @usableFromInline var frames = 0
        @usableFromInline var elements = 0
        @usableFromInline var slot = Slot.root
        @usableFromInline var header = 0

        @inlinable package init() {}
    }

    /// The state as it is now; good until the container that is open now is closed.
    @inlinable package var mark: Mark {
        var mark = Mark()
        mark.nodes = nodes.count
        mark.bytes = bytes.count
        mark.keys = keys.count
        mark.frames = frames.count
        mark.elements = elements
        mark.slot = slot
        mark.header = header
        return mark
    }

    /// Forgets everything written since the mark was taken.
    package mutating func rewind(to mark: Mark) {
        nodes.count = mark.nodes
        bytes.count = mark.bytes
        keys.count = mark.keys
        frames.count = mark.frames
        elements = mark.elements
        slot = mark.slot
        header = mark.header
    }

    /// How many entries the open dictionary has so far, those of equal keys among them.
    package var openEntries: Int { frames.count > 0 ? keys.count - frames[frames.count - 1].firstKey : 0 }

    /// Removes the entries of each key from among the open dictionary's first ones, as many as the number says. Keys
    /// are told apart by their bytes.
    package mutating func removeEntries(_ keysAndEnds: [PropertyListPath.Step: Int]) {
        guard frames.count > 0, slot == .key else { return }
        let first = frames[frames.count - 1].firstKey
        var kept = first
        for index in first..<keys.count {
            if let end = keysAndEnds[.key(text(of: keys[index]))], index - first < end { continue }
            keys[kept] = keys[index]
            kept += 1
        }
        hasDuplicates = hasDuplicates || kept < keys.count
        keys.count = kept
    }
}
