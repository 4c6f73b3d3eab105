internal import Synchronization

/// Findings about a document's values, kept with the document so that each is worked out once.
///
/// A finding answers a question about a value's node; a question is a number, which no other question ever gets. Pairs
/// of question and node share slots, the more the larger the document; a newer finding takes an older one's slot.
/// Guarded by ``Lock/shared``. Belongs to its document and is never copied: a look at it would copy all of it.
package struct DocumentCache: ~Copyable {
    package enum Finding: Sendable {
        /// The answer is the value itself.
        case holds
        /// The answer is another value, made from it.
        case becomes(PropertyList)
    }

    private struct Entry {
        var question: UInt64 = 0
        var index = -1
        var finding = Finding.holds

        /// How many nodes the finding keeps in memory.
        var size: Int {
            guard case .becomes(let list) = finding else { return 0 }
            return list.document.nodeCount
        }
    }

    private static let lastQuestion = Atomic<UInt64>(0)

    /// The number of a new question.
    package static func newQuestion() -> UInt64 {
        lastQuestion.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// The first slot, the only one of a small document.
    private var first = Entry()
    /// The slots behind it, made with the first finding.
    private var others: [Entry] = []
    /// How many nodes all findings keep.
    private var size = 0

    /// Whether a finding keeps another document.
    fileprivate var keepsDocument: Bool { size > 0 }

    private subscript(slot: Int) -> Entry {
        get { slot == 0 ? first : others[slot - 1] }
        set { if slot == 0 { first = newValue } else { others[slot - 1] = newValue } }
    }

    fileprivate func finding(_ question: UInt64, _ index: Int) -> Finding? {
        let entry = self[slot(question, index)]
        return entry.question == question && entry.index == index ? entry.finding : nil
    }

    /// Notes the finding unless it is too large; gives the one whose slot it took.
    fileprivate mutating func note(
        _ finding: Finding, _ question: UInt64, _ index: Int, of nodeCount: Int
    ) -> Finding? {
        if others.isEmpty { others = Array(repeating: Entry(), count: Self.slotCount(nodeCount) - 1) }
        let entry = Entry(question: question, index: index, finding: finding)
        let slot = slot(question, index)
        let replaced = self[slot]
        let newSize = size - replaced.size + entry.size
        guard newSize <= Self.budget(nodeCount) else { return nil }
        self[slot] = entry
        size = newSize
        return replaced.finding
    }

    private func slot(_ question: UInt64, _ index: Int) -> Int {
        let mixed = (question ^ UInt64(truncatingIfNeeded: index)) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 40) & others.count
    }

    /// A power of two.
    private static func slotCount(_ nodeCount: Int) -> Int {
        var count = 1
        while count < 256, count * 64 <= nodeCount { count *= 2 }
        return count
    }

    /// How many nodes all findings may keep: four times as many as the document has, and defaults for a small one.
    private static func budget(_ nodeCount: Int) -> Int { 4 * nodeCount + 256 }
}

extension Document {
    /// The finding noted for the question and the value at `index`; nil without one.
    package func finding(_ question: UInt64, at index: Int) -> DocumentCache.Finding? {
        Lock.shared.withLock { cache.finding(question, index) }
    }

    /// Notes a finding.
    ///
    /// A finding's document must not be this one, which would keep itself alive for ever, nor one that keeps another: a
    /// value that is encoded again and again would grow a chain. One of the two documents is always new, so that no two
    /// keep each other.
    package func note(_ finding: DocumentCache.Finding, _ question: UInt64, at index: Int) {
        // The replaced finding is released after the lock.
        _ = Lock.shared.withLock { () -> DocumentCache.Finding? in
            if case .becomes(let list) = finding, list.document === self || list.document.cache.keepsDocument {
                return nil
            }
            return cache.note(finding, question, index, of: nodeCount)
        }
    }
}
