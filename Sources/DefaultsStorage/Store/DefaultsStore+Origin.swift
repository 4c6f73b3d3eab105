public import PropertyLists

/// The origin of a value: the layer that it is read from, and that layer's file, or its store and revision on a server.
///
/// ```swift
/// if let origin = try store.origin(at: ["window", "width"]), origin.layer == .managed {
///     print("The administrator has set the width in \(origin.file ?? "a file")")
/// }
/// ```
public struct DefaultsOrigin: Sendable, Hashable {
    /// The first layer of the search list that has the value.
    public let layer: DefaultsLayer
    /// The path of the layer's file; nil for arguments and defaults, which have none, and for a store in memory or on a
    /// server.
    public let file: String?
    /// The name of the layer's store on a server; nil elsewhere.
    public let store: String?
    /// The revision of ``store`` in which the value's top-level key was set; nil while the server is away, and for a
    /// change that waits to be written.
    public let revision: Int64?
    /// The server's user who set it; nil as ``revision``, and where the history no longer says.
    public let author: String?

    init(_ layer: DefaultsLayer, in domain: Domain? = nil, store: String? = nil, commit: ServerCommit? = nil) {
        self.layer = layer
        file = domain?.file
        self.store = store
        revision = commit?.revision
        author = commit?.author
    }
}

/// A commit of a server's history.
struct ServerCommit {
    let revision: Int64
    /// nil where the history no longer says.
    let author: String?
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
        if let found = try origin(of: key, in: layers.mandatory, DefaultsLayer.mandatory) { return found }
        if layers.arguments?[utf8: key] != nil { return DefaultsOrigin(.arguments) }
        if try domain.contains(key) {
            return origin(.application, of: key, in: domain, as: domain.revision(below: key))
        }
        for (index, suite) in layers.suites.enumerated() {
            if try suite.value(key) != nil { return DefaultsOrigin(.suite(index), in: suite) }
        }
        if let found = try origin(of: key, in: layers.recommended, DefaultsLayer.recommended) { return found }
        if try layers.global?.value(key) != nil { return DefaultsOrigin(.global, in: layers.global) }
        guard let value = domain.lock.withLock({ state.registered })[utf8: key] else { return nil }
        return DefaultsOrigin(value == schemaDefaults[utf8: key] ? .schema : .registered)
    }

    private func origin(
        of key: UnsafeBufferPointer<UInt8>, in stores: [FleetLayer], _ layer: (Int) -> DefaultsLayer
    ) throws(DefaultsError) -> DefaultsOrigin? {
        for (index, store) in stores.enumerated() where try store.contains(key) {
            return origin(layer(index), of: key, in: store.domain, as: store.revision)
        }
        return nil
    }

    /// - Parameter revision: that the value was read in.
    private func origin(
        _ layer: DefaultsLayer, of key: UnsafeBufferPointer<UInt8>, in domain: Domain, as revision: Int64?
    ) -> DefaultsOrigin {
        guard let engine = domain.engine as? PostgreSQLEngine else { return DefaultsOrigin(layer, in: domain) }
        let deadline = Deadline.after(min(state.timeout, .seconds(2)))
        let commit = revision.flatMap { engine.commit(of: key, upTo: $0, until: deadline) }
        return DefaultsOrigin(layer, store: engine.store, commit: commit)
    }
}

extension Domain {
    /// The revision that was seen last; nil where a change of the key waits to be written.
    fileprivate func revision(below key: UnsafeBufferPointer<UInt8>) -> Int64? {
        lock.withLock { target.find(key) == nil && committing?.find(key) == nil ? revision : nil }
    }
}
