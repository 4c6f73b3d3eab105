internal import Synchronization

/// What one value of a small document becomes, kept with the document: a ``DocumentMemo`` with one place, which is
/// filled once and then read without a lock.
///
/// No document keeps itself alive by it, and no chain of them grows: one of the two documents is always new when they
/// are joined, and what has a twin is not kept as one.
final class DocumentTwin: Sendable {
    fileprivate let question: UInt64
    fileprivate let index: Int
    fileprivate let list: PropertyList

    fileprivate init(_ list: PropertyList, _ question: UInt64, _ index: Int) {
        (self.list, self.question, self.index) = (list, question, index)
    }
}

extension Document {
    /// What was noted that the value at `index` becomes; nil where it was another one, for another question, or
    /// nothing.
    @inline(__always)
    package func twin(_ question: UInt64, at index: Int) -> PropertyList? {
        guard let address = UnsafeRawPointer(bitPattern: twin.load(ordering: .acquiring)) else { return nil }
        return Unmanaged<DocumentTwin>.fromOpaque(address)._withUnsafeGuaranteedRef {
            $0.question == question && $0.index == index ? $0.list : nil
        }
    }

    /// Notes what the value at `index` becomes, where nothing is noted yet.
    package func noteTwin(_ list: PropertyList, _ question: UInt64, at index: Int) {
        guard list.document !== self, twin.load(ordering: .relaxed) == 0 else { return }
        guard list.document.twin.load(ordering: .relaxed) == 0 else { return }
        let made = Unmanaged.passRetained(DocumentTwin(list, question, index))
        let word = UInt(bitPattern: made.toOpaque())
        if !twin.compareExchange(expected: 0, desired: word, ordering: .acquiringAndReleasing).exchanged {
            made.release()
        }
    }

    /// For the end of the document: nobody reads any more.
    func freeTwin() {
        guard let twin = UnsafeRawPointer(bitPattern: twin.load(ordering: .acquiring)) else { return }
        Unmanaged<DocumentTwin>.fromOpaque(twin).release()
    }
}
