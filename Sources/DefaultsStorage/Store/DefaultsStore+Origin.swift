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
    /// The origin of the value at `path`: of a dictionary that is merged of several layers the uppermost; nil where
    /// there is no value, and for the empty path, whose dictionary is made of all layers.
    ///
    /// A default of the schema is of ``DefaultsLayer/schema``, also inside of a value that a file has.
    public func origin(at path: PropertyListPath) throws(DefaultsError) -> DefaultsOrigin? {
        try checkOpen()
        guard case .key(let key)? = path.steps.first, try stored(at: path) != nil else { return nil }
        return try key.withBytes { bytes throws(DefaultsError) in
            try origin(of: bytes.bindMemory(to: UInt8.self), path.steps.dropFirst())
        }
    }

    /// The uppermost layer that has the value at a path. All values on the way are dictionaries.
    private func origin(
        of key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(DefaultsError) -> DefaultsOrigin {
        let has = { (top: PropertyList?) in top?.value(atSteps: steps) != nil }
        if has(layers.managed?.stored(key)) { return DefaultsOrigin(.managed, in: layers.managed) }
        if has(layers.arguments?[utf8: key]) { return DefaultsOrigin(.arguments) }
        if try domain.value(key, state, steps) != nil { return DefaultsOrigin(.application, in: domain) }
        for (index, suite) in layers.suites.enumerated() {
            if has(try suite.value(key)) { return DefaultsOrigin(.suite(index), in: suite) }
        }
        if has(try layers.administrator?.value(key)) { return DefaultsOrigin(.administrator, in: layers.administrator) }
        if has(try layers.global?.value(key)) { return DefaultsOrigin(.global, in: layers.global) }
        return DefaultsOrigin(has(domain.lock.withLock { state.registered }[utf8: key]) ? .registered : .schema)
    }
}
