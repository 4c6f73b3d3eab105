internal import CKVSystem
internal import PropertyLists

/// The most bytes of a file that the value at a path may take after a change of a handle. Guarded by the domain's lock.
///
/// `size` goes along with the handle's own changes; changes of others at the path, below or above it, and the end of a
/// transaction have it counted anew before the next one.
final class Quota {
    /// The path's first step.
    let key: [UInt8]
    /// The path below that key.
    let rest: PropertyListPath
    let bytes: Int
    private var size: Int?
    /// The thread that has counted: another one may not see the same, in a transaction.
    private var thread: UInt64 = 0

    /// - Parameter root: begins with a key.
    init(key: String, rest: PropertyListPath, bytes: Int) {
        self.key = Array(key.utf8)
        self.rest = rest
        self.bytes = bytes
    }

    /// One that counts for another handle.
    init(_ other: Quota) {
        key = other.key
        rest = other.rest
        bytes = other.bytes
    }

    fileprivate var counted: Int? { size.flatMap { thread == cs_thread_number() ? $0 : nil } }

    func note(_ newSize: Int) {
        size = newSize
        thread = cs_thread_number()
    }

    func forget() { size = nil }

    /// Whether a change at a path may change the value.
    fileprivate func isNear(_ other: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath) -> Bool {
        other.elementsEqual(key) && zip(rest.steps, path.steps).allSatisfy { $0 == $1 }
    }
}

/// The size that a change gives a quota's value.
struct Charge {
    let quota: Quota
    let size: Int
}

/// All with the lock held.
extension Domain {
    /// The sizes that the values of the handle's quotas have once `value` is set at `path` of a key.
    ///
    /// - Parameters:
    ///   - growth: the size that the change adds to the store; of no matter where it sets the whole value of a key.
    /// - Throws: where one grows beyond its quota.
    func charges(
        setting value: PropertyList, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>,
        in target: Delta, _ handle: HandleState, _ growth: FileSize
    ) throws(DefaultsError) -> [Charge] {
        var charges: [Charge] = []
        for quota in handle.quotas where quota.isNear(key, path) {
            let size: Int
            if path.steps.count <= quota.rest.steps.count {
                let inner = PropertyListPath(Array(quota.rest.steps.dropFirst(path.steps.count)))
                size = self.size(of: value.value(at: inner), quota)
            } else {
                let old = try self.size(of: quota, in: target)
                size = old > 0 ? old &+ growth.bytes : sizeMade(setting: value, at: path, quota)
            }
            try check(size, quota, in: target, key, path)
            charges.append(Charge(quota: quota, size: size))
        }
        return charges
    }

    private func check(
        _ size: Int, _ quota: Quota, in target: Delta, _ key: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath
    ) throws(DefaultsError) {
        guard size > quota.bytes, try size > self.size(of: quota, in: target) else { return }
        let message = "Expected a part of at most \(quota.bytes) bytes, this would make it \(size)"
        throw DefaultsError(.limitExceeded, message, at: location(of: key, path), file: file)
    }

    /// Notes a change that was made, of a handle with the charges or of another.
    func noteQuotas(_ key: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath, _ charges: [Charge] = []) {
        for quota in quotas where quota.isNear(key, path) { quota.forget() }
        for charge in charges { charge.quota.note(charge.size) }
    }

    /// Has all sizes counted anew.
    func forgetQuotas() {
        for quota in quotas { quota.forget() }
    }

    private func size(of quota: Quota, in target: Delta) throws(DefaultsError) -> Int {
        if let size = quota.counted { return size }
        let value = try quota.key.withUnsafeBufferPointer { key throws(DefaultsError) in
            try lookUp(key, quota.rest.steps[...], in: target)
        }
        let result = size(of: value, quota)
        quota.note(result)
        return result
    }

    private func size(of value: PropertyList?, _ quota: Quota) -> Int {
        value?.fileSize(as: sizeFormat, depth: 1 + quota.rest.steps.count).bytes ?? 0
    }

    /// The size of the value that is made at the quota's root, where there was none.
    private func sizeMade(setting value: PropertyList, at path: PropertyListPath, _ quota: Quota) -> Int {
        let format = sizeFormat
        var result = value.fileSize(as: format, depth: 1 + path.steps.count)
        for index in quota.rest.steps.count..<path.steps.count {
            result += FileSize(ofContainerAs: format, depth: 1 + index)
            result += keySize(path.steps[index], depth: 2 + index)
        }
        return result.bytes
    }
}
