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
}

extension Domain {
    /// The value of `key` in a domain that is only read.
    func stored(_ key: UnsafeBufferPointer<UInt8>) -> PropertyList? { lock.withLock { mine.stored[key] } }

    func value(_ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> PropertyList? {
        try lock.withLock { () throws(DefaultsError) in try lookUp(key) }
    }

    /// What the domain says of the value at a path; nil for nothing.
    func uppermost(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>, _ handle: HandleState
    ) throws(DefaultsError) -> Uppermost? {
        lock.lock()
        defer { lock.unlock() }
        try handle.checkOpen()
        if let own = try lookUp(key, steps) {
            return own.kind == .dictionary ? .dictionary(own) : .alone(own)
        }
        if !steps.isEmpty, target.state.hides(key, steps) { return .alone(nil) }
        return target.state.unset == nil ? nil : .dictionary(nil)
    }
}
