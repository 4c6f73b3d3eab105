internal import PropertyLists

/// The most bytes in memory that the value at a path may take after a set of a handle.
struct Quota: Sendable {
    /// The path's first step.
    private let key: [UInt8]
    /// The path below that key.
    private let rest: PropertyListPath
    private let bytes: Int

    /// - Parameter root: begins with a key.
    init(key: String, rest: PropertyListPath, bytes: Int) {
        self.key = Array(key.utf8)
        self.rest = rest
        self.bytes = bytes
    }
}

extension Quota {
    /// Whether a change at a path may change the value.
    fileprivate func isNear(_ other: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath) -> Bool {
        other.elementsEqual(key) && zip(rest.steps, path.steps).allSatisfy { $0 == $1 }
    }

    /// - Throws: an error if the quota's value grows beyond it once `value` is set at `path` of the key.
    fileprivate func check(
        setting value: PropertyList, at path: PropertyListPath, _ growth: PropertyListSize,
        of domain: Domain, _ location: PropertyListPath
    ) throws(DefaultsError) {
        let old = try key.withUnsafeBufferPointer { key throws(DefaultsError) in
            try domain.lookUp(key, rest.steps[...])
        }
        let new: Int
        if path.steps.count <= rest.steps.count {
            let inner = PropertyListPath(Array(rest.steps.dropFirst(path.steps.count)))
            new = value.value(at: inner)?.size.bytes ?? 0
        } else if let old {
            new = (old.size + growth).bytes
        } else {
            new = (try? value.stored(in: path, from: rest.steps.count).size.bytes) ?? 0
        }
        guard new > bytes, new > old?.size.bytes ?? 0 else { return }
        let message = "Expected a part of at most \(bytes) bytes, this would make it \(new)"
        throw DefaultsError(.limitExceeded, message, at: location, file: domain.file)
    }

    /// Whether a store of a size may be larger than the quota: no part is larger than its store.
    fileprivate func isReached(by size: PropertyListSize) -> Bool { size.bytes > bytes }
}

extension Domain {
    /// Checks the handle's quotas before `value` is set at `path` of a key. With the lock held.
    ///
    /// - Parameters:
    ///   - growth: the size that the change adds to the store.
    ///   - location: the place that an error names.
    /// - Throws: an error if one of the parts grows beyond its quota.
    func checkQuotas(
        setting value: PropertyList, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>,
        _ growth: PropertyListSize, _ handle: HandleState,
        _ location: @autoclosure () -> PropertyListPath
    ) throws(DefaultsError) {
        for quota in handle.quotas where quota.isNear(key, path) && quota.isReached(by: target.state.size + growth) {
            try quota.check(setting: value, at: path, growth, of: self, location())
        }
    }
}
