/// The elements of a merged array, in order, each with what the three arrays have of it.
///
/// Added elements stand behind the element of the ancestor that they were added behind: theirs in front of ours, but at
/// the front of the array ours first. Elements that replaced others stand where those stood. An element that a side
/// moved stands where that side moved it; if both did, where ours did.
struct ArrayMerge {
    struct Element {
        var ancestor: PropertyList?
        var ours: PropertyList?
        var theirs: PropertyList?
    }

    /// The most elements of an array that is merged.
    private static let mostElements = 50_000

    private(set) var elements: [Element] = []
    private let ancestor: [PropertyList]
    private let ours: Side
    private let theirs: Side
    /// For each of our additions the index of the same one of theirs, and the reverse.
    private var theirSame: [Int?]
    private var ourSame: [Int?]

    /// Nil if an array is too long.
    init?(ancestor: [PropertyList], ours: [PropertyList], theirs: [PropertyList]) {
        guard max(ancestor.count, ours.count, theirs.count) <= Self.mostElements else { return nil }
        let table = ElementTable(ancestor, ours, theirs)
        self.ancestor = ancestor
        self.ours = Side(ours, ArrayAlignment(from: 0, to: 1, in: table))
        self.theirs = Side(theirs, ArrayAlignment(from: 0, to: 2, in: table))
        theirSame = Array(repeating: nil, count: ours.count)
        ourSame = Array(repeating: nil, count: theirs.count)
        if table.isNumeric, ancestor.count == ours.count, ours.count == theirs.count {
            elements = ancestor.indices.map { Element(ancestor: ancestor[$0], ours: ours[$0], theirs: theirs[$0]) }
            return
        }
        matchAdditions(table)
        for index in 0...ancestor.count {
            append(self.ours.added[index], self.theirs.added[index], isFront: index == 0)
            guard index < ancestor.count else { break }
            append(self.ours.replacing[index], self.theirs.replacing[index], isFront: index == 0)
            if !self.ours.alignment.isMoved[index], !self.theirs.alignment.isMoved[index] { appendOld(index) }
        }
    }

    // MARK: - Additions of both sides

    private mutating func matchAdditions(_ table: ElementTable) {
        if table.identity != nil {
            pair(Array(ours.elements.indices), Array(theirs.elements.indices), table)
            return
        }
        for index in ours.added.indices { pair(ours.added[index], theirs.added[index], table) }
        for index in ours.replacing.indices { pair(ours.replacing[index], theirs.replacing[index], table) }
    }

    /// Pairs equal additions of both sides, each with one.
    private mutating func pair(_ ourIndices: [Int], _ theirIndices: [Int], _ table: ElementTable) {
        guard !ourIndices.isEmpty, !theirIndices.isEmpty else { return }
        var left: [Int: [Int]] = [:]
        for index in ourIndices.reversed() where ours.alignment.source[index] == nil {
            left[table.numbers[1][index], default: []].append(index)
        }
        for index in theirIndices where theirs.alignment.source[index] == nil {
            guard let same = left[table.numbers[2][index]]?.popLast() else { continue }
            theirSame[same] = index
            ourSame[index] = same
        }
    }

    // MARK: - Order

    private mutating func append(_ ourIndices: [Int], _ theirIndices: [Int], isFront: Bool) {
        if isFront { for index in ourIndices { appendOurs(index) } }
        for index in theirIndices { appendTheirs(index) }
        if !isFront { for index in ourIndices { appendOurs(index) } }
    }

    private mutating func appendOurs(_ index: Int) {
        if let source = ours.alignment.source[index] { return appendOld(source) }
        // An addition of both sides is written once, where it comes first.
        if let same = theirSame[index], same < 0 { return }
        elements.append(Element(ours: ours.elements[index], theirs: theirSame[index].map { theirs.elements[$0] }))
        if let same = theirSame[index] { ourSame[same] = Self.written }
    }

    private mutating func appendTheirs(_ index: Int) {
        if let source = theirs.alignment.source[index] {
            // Our move decides.
            if !ours.alignment.isMoved[source] { appendOld(source) }
            return
        }
        if let same = ourSame[index], same < 0 { return }
        elements.append(Element(ours: ourSame[index].map { ours.elements[$0] }, theirs: theirs.elements[index]))
        if let same = ourSame[index] { theirSame[same] = Self.written }
    }

    /// In place of an index: the addition is written.
    private static let written = -1

    private mutating func appendOld(_ index: Int) {
        elements.append(
            Element(
                ancestor: ancestor[index], ours: ours.alignment.target[index].map { ours.elements[$0] },
                theirs: theirs.alignment.target[index].map { theirs.elements[$0] }))
    }

    /// The changed array of one side.
    private struct Side {
        let elements: [PropertyList]
        let alignment: ArrayAlignment
        /// By the old element that they stand in front of: the new and the moved elements.
        private(set) var added: [[Int]]
        /// By the first of the old elements whose place they take.
        private(set) var replacing: [[Int]]

        init(_ elements: [PropertyList], _ alignment: ArrayAlignment) {
            self.elements = elements
            self.alignment = alignment
            added = Array(repeating: [], count: alignment.target.count + 1)
            replacing = added
            var (next, run) = (0, [Int]())
            for index in 0...elements.count {
                let anchor =
                    index == elements.count ? alignment.target.count : alignment.anchorSource(of: index)
                guard let anchor else {
                    run.append(index)
                    continue
                }
                if anchor > next { replacing[next] += run } else { added[next] += run }
                (next, run) = (anchor + 1, [])
            }
        }
    }
}
