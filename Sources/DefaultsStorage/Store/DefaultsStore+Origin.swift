public import PropertyLists

/// The origin of a value: the layer that it is read from, and that layer's file.
///
/// ```swift
/// if let origin = try store.origin(at: ["window", "width"]), origin.layer == .managed {
///     print("The administrator has set the width in \(origin.file ?? "a file")")
/// }
/// ```
public struct DefaultsOrigin: Sendable, Hashable {
    /// The first layer of the search list that has the value.
    public let layer: DefaultsLayer
    /// The path of the layer's file; nil for arguments and defaults, which have none, and for a store in memory.
    public let file: String?

    init(_ layer: DefaultsLayer, in domain: Domain? = nil) {
        self.layer = layer
        file = domain?.file
    }
}

extension DefaultsStore {
    /// The origin of the value at `path`; nil where there is no value, and for the empty path, whose dictionary is made
    /// of all layers.
    ///
    /// A default of the schema is of ``DefaultsLayer/schema``, also inside of a value that a file has; so is a
    /// registered one that is equal to it.
    public func origin(at path: PropertyListPath) throws(DefaultsError) -> DefaultsOrigin? {
        try checkOpen()
        guard case .key(let key)? = path.steps.first, try stored(at: path) != nil else { return nil }
        guard try layered(key, path.steps.dropFirst()) != nil else { return DefaultsOrigin(.schema) }
        return try key.withBytes { bytes throws(DefaultsError) in
            try origin(of: bytes.bindMemory(to: UInt8.self))
        }
    }

    /// The first layer that has a top-level key, in the order of the search list.
    private func origin(of key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> DefaultsOrigin? {
        if layers.managed?.stored(key) != nil { return DefaultsOrigin(.managed, in: layers.managed) }
        if layers.arguments?[utf8: key] != nil { return DefaultsOrigin(.arguments) }
        if try domain.contains(key) { return DefaultsOrigin(.application, in: domain) }
        for (index, suite) in layers.suites.enumerated() {
            if try suite.value(key) != nil { return DefaultsOrigin(.suite(index), in: suite) }
        }
        if try layers.global?.value(key) != nil { return DefaultsOrigin(.global, in: layers.global) }
        guard let value = domain.lock.withLock({ state.registered })[utf8: key] else { return nil }
        return DefaultsOrigin(value == schemaDefaults[utf8: key] ? .schema : .registered)
    }
}
