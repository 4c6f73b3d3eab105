internal import Synchronization

/// What others found out about a document's values, kept with the document so that nobody finds it out again.
///
/// A finding belongs to a question, a number that is never given to another one, and to a value's node: nothing is told
/// apart by an address. There is one place for each of a few pairs of the two, in proportion to the document's size; a
/// newer finding takes an older one's place. Safe to use from several threads at once.
package final class DocumentMemo: Sendable {
    package enum Finding: Sendable {
        /// It is so, and the value itself is the answer.
        case holds
        /// What the value becomes.
        case becomes(PropertyList)
    }

    private struct Entry: Sendable {
        var question: UInt64 = 0
        var index = 0
        var finding = Finding.holds

        /// How many nodes the finding keeps in memory.
        var size: Int {
            guard case .becomes(let list) = finding else { return 0 }
            return list.document.nodeCount
        }
    }

    private struct Table: Sendable {
        var entries: [Entry]
        var size = 0
    }

    private static let lastQuestion = Atomic<UInt64>(0)

    /// A number that stands for nothing else.
    package static func newQuestion() -> UInt64 {
        lastQuestion.wrappingAdd(1, ordering: .relaxed).newValue
    }

    private let table: Mutex<Table>
    /// How many nodes all findings may keep: four times as many as the document has.
    private let budget: Int

    fileprivate init(nodeCount: Int) {
        var places = 1
        while places < 256, places * 64 <= nodeCount { places *= 2 }
        table = Mutex(Table(entries: Array(repeating: Entry(), count: places)))
        budget = nodeCount.multipliedReportingOverflow(by: 4).partialValue
    }

    private static func place(_ question: UInt64, _ index: Int, of count: Int) -> Int {
        let mixed = (question ^ UInt64(truncatingIfNeeded: index)) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 40) & (count &- 1)
    }

    fileprivate func finding(_ question: UInt64, _ index: Int) -> Finding? {
        table.withLock { table in
            let entry = table.entries[Self.place(question, index, of: table.entries.count)]
            return entry.question == question && entry.index == index ? entry.finding : nil
        }
    }

    fileprivate func note(_ finding: Finding, _ question: UInt64, _ index: Int) {
        let entry = Entry(question: question, index: index, finding: finding)
        table.withLock { table in
            let place = Self.place(question, index, of: table.entries.count)
            let size = table.size - table.entries[place].size + entry.size
            guard size <= budget else { return }
            table.entries[place] = entry
            table.size = size
        }
    }
}

extension Document {
    /// What was noted for the question and the value at `index`.
    package func finding(_ question: UInt64, at index: Int) -> DocumentMemo.Finding? {
        if holds(question, at: index) { return .holds }
        return memoObject?.finding(question, index)
    }

    /// Whether the last that was noted for the document is that this holds. The cheapest of questions.
    @inline(__always)
    package func holds(_ question: UInt64, at index: Int) -> Bool {
        let word = Self.word(question, index)
        return word != 0 && lastFinding.load(ordering: .relaxed) == word
    }

    /// Notes that it holds, alone: for values that are found out about sooner than a memo is made.
    package func noteLast(_ question: UInt64, at index: Int) {
        lastFinding.store(Self.word(question, index), ordering: .relaxed)
    }

    /// Notes a finding. What it keeps must not be a part of this document, which it would keep alive for ever.
    package func note(_ finding: DocumentMemo.Finding, _ question: UInt64, at index: Int) {
        switch finding {
        case .becomes(let list) where list.document === self: return
        case .becomes: break
        case .holds: noteLast(question, at: index)
        }
        (memoObject ?? makeMemo()).note(finding, question, index)
    }

    /// Both in one word: a number that is never given to another pair, since a document has fewer nodes than 2³¹. 0 for
    /// questions beyond 32 bits, which are not remembered so.
    private static func word(_ question: UInt64, _ index: Int) -> UInt64 {
        question <= UInt64(UInt32.max) ? question << 32 | UInt64(truncatingIfNeeded: index) : 0
    }

    private var memoObject: DocumentMemo? {
        UnsafeRawPointer(bitPattern: memo.load(ordering: .acquiring)).map {
            Unmanaged<DocumentMemo>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// The memo that is there from now on: this one, or the one that another thread was quicker to make.
    private func makeMemo() -> DocumentMemo {
        let made = Unmanaged.passRetained(DocumentMemo(nodeCount: nodeCount))
        let word = UInt(bitPattern: made.toOpaque())
        let (isFirst, _) = memo.compareExchange(expected: 0, desired: word, ordering: .acquiringAndReleasing)
        guard !isFirst else { return made.takeUnretainedValue() }
        made.release()
        return memoObject ?? DocumentMemo(nodeCount: nodeCount)
    }

    /// For the end of the document: nobody reads any more.
    func freeMemo() {
        guard let memo = UnsafeRawPointer(bitPattern: memo.load(ordering: .acquiring)) else { return }
        Unmanaged<DocumentMemo>.fromOpaque(memo).release()
    }
}
