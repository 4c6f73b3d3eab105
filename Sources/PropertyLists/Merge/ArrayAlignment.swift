/// Which old element each element of a changed array is.
///
/// Elements are the same if they have the same number in the ``ElementTable``: first the longest common subsequence,
/// then equal elements elsewhere, which have moved. Between those that kept their order, as many new elements as old
/// ones are changes in place; otherwise dictionaries that share half of their entries are the same, wherever they are.
struct ArrayAlignment {
    /// For each old element the index of the new one; nil for a removed element.
    private(set) var target: [Int?]
    /// For each new element the index of the old one; nil for an added element.
    private(set) var source: [Int?]
    /// For each old element whether it stands in another order among the elements that both arrays have.
    private(set) var isMoved: [Bool]

    private let table: ElementTable
    private let old: [Int]
    private let new: [Int]
    private let side: Int

    /// - Parameters:
    ///   - from: the number of the old array in the table.
    ///   - to: the number of the new array.
    init(from: Int, to: Int, in table: ElementTable) {
        self.table = table
        side = to
        (old, new) = (table.numbers[from], table.numbers[to])
        target = Array(repeating: nil, count: old.count)
        source = Array(repeating: nil, count: new.count)
        isMoved = Array(repeating: false, count: old.count)
        for pair in CommonSubsequence(of: old, new).pairs { match(pair.old, pair.new) }
        matchMoved()
        guard table.recognisesByEntries else { return }
        matchBetweenAnchors()
        matchSimilar(old.indices.filter { target[$0] == nil }, new.indices.filter { source[$0] == nil }, areMoved: true)
    }

    /// The old element that a new one is, if it kept its order.
    func anchorSource(of index: Int) -> Int? { source[index].flatMap { isMoved[$0] ? nil : $0 } }

    private mutating func match(_ oldIndex: Int, _ newIndex: Int) {
        target[oldIndex] = newIndex
        source[newIndex] = oldIndex
    }

    private mutating func matchMoved() {
        var left: [Int: [Int]] = [:]
        for index in old.indices.reversed() where target[index] == nil { left[old[index], default: []].append(index) }
        guard !left.isEmpty else { return }
        for index in new.indices where source[index] == nil {
            guard let oldIndex = left[new[index]]?.popLast() else { continue }
            match(oldIndex, index)
            isMoved[oldIndex] = true
        }
    }

    private mutating func matchBetweenAnchors() {
        var (nextOld, nextNew) = (0, 0)
        for index in 0...new.count {
            guard let anchor = index == new.count ? old.count : anchorSource(of: index) else { continue }
            matchRun((nextOld..<anchor).filter { target[$0] == nil }, (nextNew..<index).filter { source[$0] == nil })
            (nextOld, nextNew) = (anchor + 1, index + 1)
        }
    }

    private mutating func matchRun(_ oldIndices: [Int], _ newIndices: [Int]) {
        if table.identity == nil, oldIndices.count == newIndices.count {
            for (oldIndex, newIndex) in zip(oldIndices, newIndices) { match(oldIndex, newIndex) }
            return
        }
        matchSimilar(oldIndices, newIndices, areMoved: false)
    }

    /// Matches dictionaries that share half of their entries. Each is compared with each.
    private mutating func matchSimilar(_ oldIndices: [Int], _ newIndices: [Int], areMoved: Bool) {
        guard oldIndices.count * newIndices.count <= 1 << 16 else { return }
        var last = -1
        for oldIndex in oldIndices {
            let similar = newIndices.first {
                source[$0] == nil && ElementTable.shareHalf(table.arrays[0][oldIndex], table.arrays[side][$0])
            }
            guard let similar else { continue }
            match(oldIndex, similar)
            isMoved[oldIndex] = areMoved || similar < last
            last = max(last, similar)
        }
    }
}

/// The longest common subsequence of two sequences of numbers.
///
/// By the algorithm of Hunt and Szymanski (1977): n log n where few numbers are repeated. Where very many are, the n-th
/// of the equal numbers of one sequence can pair with the n-th of the other only, and the result may not be the longest.
struct CommonSubsequence {
    private(set) var pairs: [(old: Int, new: Int)] = []

    /// The most pairs of equal numbers that are all tried.
    private static let mostCandidates = 1 << 19

    private let old: [Int]
    private let new: [Int]

    init(of old: [Int], _ new: [Int]) {
        (self.old, self.new) = (old, new)
        var start = 0
        while start < min(old.count, new.count), old[start] == new[start] { start += 1 }
        var tail = 0
        while tail < min(old.count, new.count) - start, old[old.count - 1 - tail] == new[new.count - 1 - tail] {
            tail += 1
        }
        pairs += (0..<start).map { ($0, $0) }
        let (oldMiddle, newMiddle) = (start..<(old.count - tail), start..<(new.count - tail))
        if !oldMiddle.isEmpty, !newMiddle.isEmpty {
            pairs += containment(oldMiddle, newMiddle) ?? longestChain(oldMiddle, newMiddle)
        }
        pairs += (0..<tail).reversed().map { (old.count - 1 - $0, new.count - 1 - $0) }
    }

    /// The pairs where one sequence has all of the other, in its order; nil otherwise.
    private func containment(_ oldRange: Range<Int>, _ newRange: Range<Int>) -> [(old: Int, new: Int)]? {
        var found: [(old: Int, new: Int)] = []
        var (oldIndex, newIndex) = (oldRange.lowerBound, newRange.lowerBound)
        let isGrown = oldRange.count <= newRange.count
        while oldIndex < oldRange.upperBound, newIndex < newRange.upperBound {
            if old[oldIndex] == new[newIndex] {
                found.append((oldIndex, newIndex))
                oldIndex += 1
                newIndex += 1
            } else if isGrown {
                newIndex += 1
            } else {
                oldIndex += 1
            }
        }
        return found.count == min(oldRange.count, newRange.count) ? found : nil
    }

    /// A pair of a chain, and the pair before it.
    private struct Link {
        var old: Int
        var new: Int
        var previous: Int
    }

    private func longestChain(_ oldRange: Range<Int>, _ newRange: Range<Int>) -> [(old: Int, new: Int)] {
        var positions: [Int: [Int]] = [:]
        for index in oldRange { positions[old[index], default: []].append(index) }
        let candidates = newRange.reduce(0) { $0 + (positions[new[$1]]?.count ?? 0) }
        var links: [Link] = []
        // The last link of the chain of each length that ends first in the old sequence.
        var ends: [Int] = []
        var occurrences: [Int: Int] = [:]
        for index in newRange {
            guard let all = positions[new[index]] else { continue }
            if candidates <= Self.mostCandidates {
                // The last first, so that one new element takes one place in a chain.
                for position in all.reversed() { Self.extend(&ends, &links, position, index) }
            } else {
                let occurrence = occurrences[new[index], default: 0]
                occurrences[new[index]] = occurrence + 1
                if occurrence < all.count { Self.extend(&ends, &links, all[occurrence], index) }
            }
        }
        var chain: [(old: Int, new: Int)] = []
        var next = ends.last ?? -1
        while next >= 0 {
            chain.append((links[next].old, links[next].new))
            next = links[next].previous
        }
        return chain.reversed()
    }

    private static func extend(_ ends: inout [Int], _ links: inout [Link], _ position: Int, _ index: Int) {
        var (low, high) = (0, ends.count)
        while low < high {
            let middle = (low + high) / 2
            if links[ends[middle]].old < position { low = middle + 1 } else { high = middle }
        }
        if low < ends.count, links[ends[low]].old == position { return }
        links.append(Link(old: position, new: index, previous: low == 0 ? -1 : ends[low - 1]))
        if low == ends.count { ends.append(links.count - 1) } else { ends[low] = links.count - 1 }
    }
}
