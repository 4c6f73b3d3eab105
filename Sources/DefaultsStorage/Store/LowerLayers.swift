internal import PropertyLists

/// The layers below a store's own values, as a handle has them, and its schema.
///
/// `@unchecked Sendable`: the handle's state is guarded by the domain's lock.
final class LowerLayers: @unchecked Sendable {
    let layers: SearchLayers
    /// The domains below the application's, the upper ones first; and all but the application's.
    private let domains: [Domain]
    let allDomains: [Domain]
    let schema: DefaultsSchema?
    /// The defaults of the schema's types, of top-level keys, as they are stored.
    let schemaDefaults: PropertyList
    private let state: HandleState
    /// The domain has the layers until the handle is closed.
    private let domain: Domain

    init(
        _ layers: SearchLayers, _ schema: DefaultsSchema?, _ state: HandleState, _ domain: Domain
    ) throws(DefaultsError) {
        self.layers = layers
        domains = layers.lower
        allDomains = layers.domains
        self.schema = schema
        self.state = state
        self.domain = domain
        schemaDefaults =
            try schema?.types.map { types throws(DefaultsError) in
                try DefaultsSchema.translating(at: []) { try types.defaults() }
            } ?? emptyDictionary
    }

    /// The values of the layers now.
    var states: LowerStates {
        LowerStates(
            domains: domains.map { $0.state }, registered: domain.lock.withLock { state.registered },
            schemaDefaults: schemaDefaults)
    }

    /// What the uppermost of the layers says of a value.
    func uppermost(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(DefaultsError) -> Uppermost {
        for domain in domains {
            if let top = try domain.value(key), let found = top.uppermost(steps) { return found }
        }
        let top = domain.lock.withLock { state.registered[utf8: key] }
        if let found = top?.uppermost(steps) { return found }
        return schema == nil ? .alone(nil) : schemaDefaults[utf8: key]?.uppermost(steps) ?? .alone(nil)
    }

    /// Checks a value of the store by the schema, with what it shows of the lower layers.
    func check(
        _ own: PropertyList, of key: UnsafeBufferPointer<UInt8>, unset: PathTree?
    ) throws(DefaultsError) {
        guard let schema else { return }
        let name = String(decoding: key, as: UTF8.self)
        let path: PropertyListPath = [.key(name)]
        var value = LayeredValue()
        value.add(own: own)
        if unset?.covers(path.steps[...]) == true { value.decide() }
        value.unset = unset?.node(at: path.steps[...])
        let whole = try DefaultsError.translating { () throws(PropertyListError) in
            if !value.isDecided { try states.add(to: &value, key, []) }
            return try value.merged(at: path, isWhole: schema.isVariant)
        }
        if let whole { try schema.check(whole, of: name) }
    }
}

/// What one layer says of the value at a path.
enum Uppermost {
    /// No lower layer counts: the value, if there is one.
    case alone(PropertyList?)
    /// A dictionary, which is merged with those of lower layers; nil for an unknown one.
    case dictionary(PropertyList?)
}

extension PropertyList {
    /// What a layer whose value of the path's first key this is says of the value at `steps`; nil for nothing.
    fileprivate func uppermost(_ steps: ArraySlice<PropertyListPath.Step>) -> Uppermost? {
        if let value = value(atSteps: steps) { return value.kind == .dictionary ? .dictionary(value) : .alone(value) }
        return hides(steps) ? .alone(nil) : nil
    }
}

extension DefaultsSchema {
    /// Whether the dictionary at a path is one value, such as an enum's case with its values; nil without types.
    var isVariant: ((PropertyListPath) -> Bool)? {
        guard let types else { return nil }
        return { types.isVariant(at: $0) }
    }
}
