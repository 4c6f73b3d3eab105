internal import CKVSystem
internal import PropertyLists

/// The transaction that is open on a domain, and its thread. Guarded by the domain's lock.
final class OpenTransaction {
    /// The domain's values when the transaction began.
    var start: State
    /// Those values with the transaction's changes.
    let box: StateBox
    /// The values and the checks as they were when each of the transactions inside this one began.
    var saved: [(state: State, schemas: [SchemaCheck: LowerLayers])] = []
    let thread = cs_thread_number()
    /// True if it is of one call, whose change is merged with those of other programs.
    let isOneCall: Bool
    /// Whether its thread has begun to write it.
    var isCommitting = false
    /// The version that it brings to another one; nil if it is no migration. The program's check waits for the commit.
    var migrated: Int?
    /// Whether that check has begun.
    var isChecked = false
    /// The number of calls under way whose changes are held to the limits together.
    var wholes = 0
    /// The checks that are made before the commit.
    var schemas: [SchemaCheck: LowerLayers] = [:]

    var state: State {
        get { box.state }
        set { box.state = newValue }
    }

    init(_ start: State, isOneCall: Bool) {
        (self.start, box) = (start, StateBox(start))
        self.isOneCall = isOneCall
    }
}
