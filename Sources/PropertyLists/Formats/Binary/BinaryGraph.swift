/// Counts the size that a binary property list with shared objects has as a tree, without making the tree.
///
/// Every container is visited once, so that the time is linear in the file however large the tree would be. Counted
/// only when a reader meets a container again, or more text than the file has.
struct BinaryGraph: ~Copyable {
    /// The size of an object as a tree.
    private struct Size: BitwiseCopyable {
        static let open = Size(nodes: -1)

        var nodes = 0
        var bytes = 0

        /// Stops at the largest number, which is above every budget.
        mutating func add(_ other: Size) {
            nodes = Self.sum(nodes, other.nodes)
            bytes = Self.sum(bytes, other.bytes)
        }

        private static func sum(_ left: Int, _ right: Int) -> Int {
            let (sum, overflow) = left.addingReportingOverflow(right)
            return overflow ? .max : sum
        }
    }

    private struct Frame: BitwiseCopyable {
        var object: Int
        var offset: Int
        var next: Int
        var end: Int
        var size: Size
    }

    private let objects: BinaryObjects
    private let depth: Int
    private let nodeBudget: Int
    private let byteBudget: Int
    /// The size of each container object: no nodes before it is met, ``open`` while it is open.
    private var sizes = GrowableBuffer<Size>()
    private var frames = GrowableBuffer<Frame>()

    /// - Throws: ``PropertyListError/Code/limitExceeded`` when the tree is above the budgets or too deep,
    ///   ``PropertyListError/Code/malformed`` when a container holds itself.
    static func check(_ objects: BinaryObjects, limits: PropertyListLimits) throws(PropertyListError) {
        var graph = BinaryGraph(objects: objects, limits: limits)
        try graph.check()
    }

    private init(objects: BinaryObjects, limits: PropertyListLimits) {
        self.objects = objects
        depth = limits.depth
        nodeBudget = limits.nodeBudget(for: objects.fileSize)
        byteBudget = limits.byteBudget(for: objects.fileSize)
        sizes.reserve(objects.trailer.objectCount)
        for _ in 0..<objects.trailer.objectCount { sizes.append(Size()) }
    }

    private mutating func check() throws(PropertyListError) {
        try add(objects.trailer.topObject)
        while frames.count > 0 {
            let frame = frames[frames.count - 1]
            if frame.next < frame.end {
                frames[frames.count - 1].next += objects.trailer.referenceSize
                try add(try objects.reference(at: frame.next))
            } else {
                frames.count -= 1
                sizes[frame.object] = frame.size
                try add(frame.size, at: frame.offset)
            }
        }
    }

    /// Adds an object to the innermost open container, or opens it.
    private mutating func add(_ object: Int) throws(PropertyListError) {
        let marker = try objects.marker(of: object)
        guard marker.isContainer else { return try add(try size(of: marker), at: marker.offset) }
        let known = sizes[object]
        guard known.nodes >= 0 else {
            throw objects.malformed(.expected("a tree", found: "a container that holds itself"), at: marker.offset)
        }
        if known.nodes > 0 { return try add(known, at: marker.offset) }
        guard frames.count < depth else {
            throw PropertyListError(
                .limitExceeded, "Deeper than \(depth) levels", location: .offset(marker.offset))
        }
        let references = marker.type == 0xD ? 2 : 1
        let unit = references * objects.trailer.referenceSize
        let (start, count) = try objects.content(of: marker, unit: unit)
        sizes[object] = .open
        frames.append(
            Frame(object: object, offset: marker.offset, next: start, end: start + count * unit, size: Size(nodes: 1)))
    }

    private mutating func add(_ size: Size, at offset: Int) throws(PropertyListError) {
        var sum = frames.count > 0 ? frames[frames.count - 1].size : Size()
        sum.add(size)
        guard sum.nodes <= nodeBudget else {
            throw PropertyListError(
                .limitExceeded, "Shared objects grow to more than \(nodeBudget) nodes", location: .offset(offset))
        }
        guard sum.bytes <= byteBudget else {
            throw PropertyListError(
                .limitExceeded, "Shared objects grow to more than \(byteBudget) bytes", location: .offset(offset))
        }
        if frames.count > 0 { frames[frames.count - 1].size = sum }
    }

    /// The size of a scalar. For text in UTF-16 it is the most that the text may become.
    private func size(of marker: BinaryObjects.Marker) throws(PropertyListError) -> Size {
        switch marker.type {
        case 0x4, 0x5: Size(nodes: 1, bytes: try objects.content(of: marker, unit: 1).count)
        case 0x6: Size(nodes: 1, bytes: 3 * (try objects.content(of: marker, unit: 2).count))
        default: Size(nodes: 1)
        }
    }
}
