internal import PropertyLists

/// The layers around the application's domain, in the order of the search list. Fixed when the store is opened.
struct SearchLayers: Sendable {
    /// The administrator's locked keys.
    var managed: Domain?
    /// The volatile layer of the program's arguments.
    var arguments: PropertyList?
    var suites: [Domain] = []
    var global: Domain?

    var domains: [Domain] { [managed, global].compactMap { $0 } + suites }

    /// The value of `key` in the layers above the application's domain.
    func upper(_ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> PropertyList? {
        if let value = managed?.stored(key) { return value }
        return arguments?[utf8: key]
    }

    /// The value of `key` in the layers below the application's domain.
    func lower(_ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> PropertyList? {
        for suite in suites {
            if let value = try suite.value(key) { return value }
        }
        return try global?.value(key)
    }

    func isForced(_ key: UnsafeBufferPointer<UInt8>) -> Bool { managed?.stored(key) != nil }

    /// The dictionaries below the application's domain; later ones win.
    func lowerDictionaries() throws(DefaultsError) -> [PropertyList] {
        var result: [PropertyList] = []
        if let global { result.append(try global.snapshot()) }
        for suite in suites.reversed() { result.append(try suite.snapshot()) }
        return result
    }

    func upperDictionaries() throws(DefaultsError) -> [PropertyList] {
        var result: [PropertyList] = []
        if let arguments { result.append(arguments) }
        if let managed { result.append(try managed.snapshot()) }
        return result
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
}
