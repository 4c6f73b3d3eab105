internal import PropertyLists

extension PropertyListBuilder {
    /// Appends a value with its changes. Recursion is bounded by the depth limit, which the values keep.
    mutating func append(_ overlay: Overlay) throws(PropertyListError) {
        switch overlay {
        case .whole(let list): try append(list)
        case .edited(let container):
            if container.kind == .array {
                try beginArray()
                for element in container.elements { try append(element) }
                try end()
            } else {
                try append(container.base, changedBy: container.changes)
            }
        }
    }

    /// Appends a dictionary with changes to it: both in the order of their keys, so that nothing has to be sorted.
    mutating func append(
        _ base: PropertyList?, changedBy changes: borrowing KeyTable<Overlay?>
    ) throws(PropertyListError) {
        try beginDictionary()
        let order = changes.sortedIndices()
        var next = order.startIndex
        if let base {
            for slot in base.document.keys(ofDictionaryAt: base.index) {
                let key = base.document.nodes[slot]
                let name = base.document.buffer(of: key)
                var isReplaced = false
                while next < order.endIndex {
                    let comparison = changes.withKey(at: order[next]) { compareBytes($0, name) }
                    if comparison > 0 { break }
                    try append(changes, entry: order[next])
                    next += 1
                    isReplaced = comparison == 0
                }
                if isReplaced { continue }
                try append(validKey: UnsafeRawBufferPointer(name))
                try append(PropertyList(document: base.document, index: base.index + key.distance))
            }
        }
        while next < order.endIndex {
            try append(changes, entry: order[next])
            next += 1
        }
        try end()
    }

    private mutating func append(_ changes: borrowing KeyTable<Overlay?>, entry index: Int) throws(PropertyListError) {
        guard let overlay = changes[index] else { return }
        // Not by `withKey`: a builder cannot be captured while it is changed.
        try key(changes.key(at: index))
        try append(overlay)
    }
}
