internal import CKVCodable

/// The old element that each element of a changed array came from.
///
/// A script gets an array, changes it and sets it, or another program writes it: elements have no identity of their
/// own. Old and new elements are the same where they are equal, or their known parts are. Between elements found so, in
/// order, runs of the same length are taken to be changed in place. Where elements may have moved, equal ones still
/// left are found wherever they are. Every other old element is gone.
package struct ArrayMatching {
    /// An old element that is not where its neighbours are.
    package enum Move {
        /// The index of the new element that is equal, the only one left as there is no other old one.
        case to(Int)
        /// There are several, of this element or of those equal to it.
        case unclear
    }

    /// For each new element the index of the old one.
    package private(set) var sources: [Int?]
    /// Where the order is kept: the old elements whose equals are elsewhere.
    package private(set) var moves: [Int: Move] = [:]
    /// Old elements that held unknown keys and were matched by no new element.
    package private(set) var dropped = 0

    private let new: [PropertyList]
    /// The old elements in program form; nil for one that is not of the type.
    private let known: [PropertyList?]
    private let keepsOrder: Bool
    private var isTaken: [Bool]
    /// The new elements that equal old ones which moved.
    private var isEqualElsewhere: Set<Int> = []

    /// - Parameters:
    ///   - known: the old elements in the form of the new ones; nil for one that is not of the type.
    ///   - keepsOrder: whether an element that stands before another did so in the old array.
    ///   - holdsUnknown: whether an old element has parts that its type does not know.
    package init(
        new: [PropertyList], known: [PropertyList?], keepsOrder: Bool = false,
        holdsUnknown: (_ index: Int) -> Bool = { _ in false }
    ) {
        self.new = new
        self.keepsOrder = keepsOrder
        self.known = known
        sources = Array(repeating: nil, count: new.count)
        isTaken = Array(repeating: false, count: known.count)
        let prefix = matchPrefix()
        let suffix = matchSuffix(above: prefix)
        matchMiddle(prefix..<(known.count - suffix), prefix..<(new.count - suffix))
        for index in known.indices where !isTaken[index] && holdsUnknown(index) { dropped += 1 }
    }

    private mutating func match(_ oldIndex: Int, _ newIndex: Int) {
        sources[newIndex] = oldIndex
        isTaken[oldIndex] = true
    }

    private mutating func matchPrefix() -> Int {
        var length = 0
        while length < min(known.count, new.count), known[length] == new[length] {
            match(length, length)
            length += 1
        }
        return length
    }

    private mutating func matchSuffix(above prefix: Int) -> Int {
        var length = 0
        while length < min(known.count, new.count) - prefix,
            known[known.count - 1 - length] == new[new.count - 1 - length]
        {
            match(known.count - 1 - length, new.count - 1 - length)
            length += 1
        }
        return length
    }

    /// In ranges of equal length, matches equal elements wherever they are, then the others by position. Else matches
    /// equal elements in order, the runs between them by position, then equal elements still left.
    private mutating func matchMiddle(_ oldRange: Range<Int>, _ newRange: Range<Int>) {
        if !keepsOrder, oldRange.count == newRange.count {
            matchMoved(oldRange, newRange)
            return matchRun(oldRange, newRange)
        }
        var oldStart = oldRange.lowerBound
        var newStart = newRange.lowerBound
        var runs: [(old: Range<Int>, new: Range<Int>)] = []
        for newIndex in newRange {
            // A bounded search keeps this linear for arrays that have nothing in common.
            let candidates = oldStart..<min(oldRange.upperBound, oldStart + 64)
            guard let oldIndex = candidates.first(where: { known[$0] == new[newIndex] }) else { continue }
            runs.append((oldStart..<oldIndex, newStart..<newIndex))
            match(oldIndex, newIndex)
            oldStart = oldIndex + 1
            newStart = newIndex + 1
        }
        runs.append((oldStart..<oldRange.upperBound, newStart..<newRange.upperBound))
        if keepsOrder { noteMoves(oldRange, newRange) }
        for run in runs { matchRun(run.old, run.new) }
        if !keepsOrder { matchMoved(oldRange, newRange) }
    }

    /// Matches elements that were changed in place: as many old ones as new ones, in order.
    private mutating func matchRun(_ oldRange: Range<Int>, _ newRange: Range<Int>) {
        let oldFree = oldRange.filter { !isTaken[$0] }
        let newFree = newRange.filter { sources[$0] == nil && !isEqualElsewhere.contains($0) }
        guard oldFree.count == newFree.count else { return }
        for (oldIndex, newIndex) in zip(oldFree, newFree) { match(oldIndex, newIndex) }
    }

    /// Notes the elements left over that are in both arrays: they have moved, and none was changed in place.
    private mutating func noteMoves(_ oldRange: Range<Int>, _ newRange: Range<Int>) {
        var left: [Element: [Int]] = [:]
        for index in newRange where sources[index] == nil {
            left[Element(value: new[index]), default: []].append(index)
        }
        var given: [Element: [Int]] = [:]
        for index in oldRange where !isTaken[index] {
            if let known = known[index] { given[Element(value: known), default: []].append(index) }
        }
        for (element, olds) in given {
            guard let news = left[element] else { continue }
            for index in olds {
                moves[index] = olds.count == 1 && news.count == 1 ? .to(news[0]) : .unclear
                isTaken[index] = true
            }
            isEqualElsewhere.formUnion(news)
        }
    }

    /// Matches equal elements that have moved: of several that are equal, in their order.
    private mutating func matchMoved(_ oldRange: Range<Int>, _ newRange: Range<Int>) {
        // The indices of each kind of element, the first of them last.
        var left: [Element: [Int]] = [:]
        for index in oldRange.reversed() where !isTaken[index] {
            if let known = known[index] { left[Element(value: known), default: []].append(index) }
        }
        for newIndex in newRange where sources[newIndex] == nil {
            if let oldIndex = left[Element(value: new[newIndex])]?.popLast() { match(oldIndex, newIndex) }
        }
    }
}

/// An element by its value. The whole of it is hashed: elements that begin alike would each be compared with all
/// others.
private struct Element: Hashable {
    let value: PropertyList

    func hash(into hasher: inout Hasher) { Self.hash(value.document, value.index, into: &hasher) }

    /// Recursion is bounded by ``PropertyListLimits/maximumDepth``.
    private static func hash(_ document: Document, _ index: Int, into hasher: inout Hasher) {
        let node = document.nodes[index]
        hasher.combine(node.head)
        hasher.combine(node.count)
        switch node.kind {
        case .string, .data: hasher.combine(bytes: UnsafeRawBufferPointer(document.buffer(of: node)))
        case .array:
            var element = index + 1
            for _ in 0..<node.count {
                hash(document, element, into: &hasher)
                element += document.nodes[element].span
            }
        case .dictionary:
            for slot in document.keys(ofDictionaryAt: index) {
                let key = document.nodes[slot]
                // By its bytes: a text hashes as others do that Unicode takes for the same.
                hasher.combine(bytes: UnsafeRawBufferPointer(document.buffer(of: key)))
                hash(document, index + key.distance, into: &hasher)
            }
        default: hasher.combine(node.payload)
        }
    }
}
