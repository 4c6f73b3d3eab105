internal import Synchronization

/// Notes which keys decoding a value asked for: what a type knows of the dictionaries it is stored in.
final class KeyRecorder: Sendable {
    /// What was asked of the dictionary at one coding path.
    private struct Knowledge {
        var keys: Set<String> = []
        /// A type that asks which keys there are takes them all for its own, as a dictionary does.
        var isWhole = false
    }

    private let paths = Mutex<[[String]: Knowledge]>([:])

    func note(_ path: [any CodingKey]) {
        paths.withLock { $0[path.map(\.stringValue), default: Knowledge()].keys.formUnion([]) }
    }

    func note(_ key: any CodingKey, at path: [any CodingKey]) {
        _ = paths.withLock { $0[path.map(\.stringValue), default: Knowledge()].keys.insert(key.stringValue) }
    }

    func noteAll(at path: [any CodingKey]) {
        paths.withLock { $0[path.map(\.stringValue), default: Knowledge()].isWhole = true }
    }

    /// The keys of the dictionary at `path` that the type knows; nil when all of it is the type's.
    func keys(at path: [String]) -> Set<String>? {
        paths.withLock { paths in
            guard let knowledge = paths[path], !knowledge.isWhole else { return nil }
            return knowledge.keys
        }
    }
}

extension CodingUserInfoKey {
    /// Never nil: the name is not empty.
    static let keyRecorder = CodingUserInfoKey(rawValue: "kvcodable.keyRecorder")
}
