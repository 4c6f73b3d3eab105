internal import PropertyLists

/// The layers around the application's domain, in the order of the search list. Fixed when the store is opened.
struct SearchLayers: Sendable {
    /// The administrator's locked values.
    var managed: Domain?
    /// The volatile layer of the program's arguments.
    var arguments: PropertyList?
    var suites: [Domain] = []
    /// The administrator's defaults.
    var administrator: Domain?
    var global: Domain?

    var domains: [Domain] { [managed].compactMap { $0 } + lower }

    /// The domains below the application's, the upper ones first.
    var lower: [Domain] { suites + [administrator, global].compactMap { $0 } }

    /// Adds the values at a path in the layers above the application's domain.
    func addUpper(
        to value: inout LayeredValue, _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) {
        if let top = managed?.stored(key) { value.add(top, steps, isLocked: true) }
        if let top = arguments?[utf8: key] { value.add(top, steps) }
    }

    /// Adds the dictionaries of those layers as wholes.
    func addUpper(to value: inout LayeredValue) throws(DefaultsError) {
        if let managed = try managed?.snapshot(), managed.count > 0 { value.add(managed, [], isLocked: true) }
        if let arguments { value.add(arguments, []) }
    }
}

extension Domain {
    /// The value of `key` in a domain that is only read.
    func stored(_ key: UnsafeBufferPointer<UInt8>) -> PropertyList? { lock.withLock { base[utf8: key] } }

    func value(_ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> PropertyList? {
        try lock.withLock { () throws(DefaultsError) in try lookUp(key, [], in: target) }
    }

    func contains(_ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> Bool {
        lock.withLock { holds(key) }
    }

    /// Adds the domain's own value at a path to those of the layers above, with the unset paths below it.
    ///
    /// - Parameter isWanted: false to add nothing of its own, and to note what is unset around the path alone.
    func add(
        to value: inout LayeredValue, _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>,
        _ handle: HandleState, isWanted: Bool = true
    ) throws(DefaultsError) {
        lock.lock()
        defer { lock.unlock() }
        try handle.checkOpen()
        let target = self.target
        if isWanted {
            if let own = try lookUp(key, steps, in: target) {
                value.add(own: own)
            } else if !steps.isEmpty, hides(key, steps, in: target) {
                value.decide()
            }
            if value.isDecided { return }
        }
        guard let unset = unsetPaths(in: target) else { return }
        let path = [.key(utf8: key)] + steps
        guard isWanted else {
            if unset.covers(path.dropLast()) { value.decide() }
            return
        }
        if unset.covers(path[...]) { value.decide() } else { value.unset = unset.node(at: path[...]) }
    }

    /// What the domain says of the value at a path; nil for nothing.
    func uppermost(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>, _ handle: HandleState
    ) throws(DefaultsError) -> Uppermost? {
        lock.lock()
        defer { lock.unlock() }
        try handle.checkOpen()
        let target = self.target
        if let own = try lookUp(key, steps, in: target) {
            return own.kind == .dictionary ? .dictionary(own) : .alone(own)
        }
        if !steps.isEmpty, hides(key, steps, in: target) { return .alone(nil) }
        return unsetPaths(in: target) == nil ? nil : .dictionary(nil)
    }

    /// Whether a value that is no dictionary stands on the way; with the lock held.
    private func hides(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>, in target: Delta
    ) -> Bool {
        for delta in [target, committing, committed] {
            if let delta, let index = delta.find(key) { return delta.hides(steps, at: index) }
        }
        return base[utf8: key]?.hides(steps) ?? false
    }
}
