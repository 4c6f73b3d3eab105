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
}
