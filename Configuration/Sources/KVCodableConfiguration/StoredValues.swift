internal import Configuration
internal import FoundationEssentials
internal import KVCodable

/// The way of a stored value to one of swift-configuration, by the types of the store's schema.
struct StoredValues: Sendable {
    /// The type of the whole store; nil without a schema.
    let types: CodableType?

    func result(_ stored: PropertyList?, at path: PropertyListPath, as type: ConfigType) throws -> LookupResult {
        LookupResult(encodedKey: path.text, value: try stored.flatMap { try value($0, at: path, as: type) })
    }

    private func value(_ stored: PropertyList, at path: PropertyListPath, as type: ConfigType) throws -> ConfigValue? {
        let isSecret = isSecret(path)
        let shown = try shown(stored, at: path, isSecret: isSecret)
        guard !shown.isNull else { return nil }
        return ConfigValue(try content(of: shown, at: path, as: type), isSecret: isSecret)
    }

    /// Whether the value, one that it is inside of, or an element of it is a secret.
    private func isSecret(_ path: PropertyListPath) -> Bool {
        guard let types else { return false }
        let outer = (0...path.steps.count).map { types.member(at: PropertyListPath(Array(path.steps.prefix($0)))) }
        return outer.contains { $0?.words.isSecret == true } || outer.last??.type.element?.words.isSecret == true
    }

    /// The value as its type shows it. What a secret is instead of its type is not in the error, also of one that is
    /// inside of the value.
    private func shown(
        _ stored: PropertyList, at path: PropertyListPath, isSecret: Bool
    ) throws -> PropertyList {
        guard let type = types?.type(at: path) else { return stored }
        do throws(TypeError) {
            return try type.read(stored, at: path)
        } catch {
            guard !isSecret, !self.isSecret(error.path) else {
                let expected = types?.type(at: error.path) ?? type
                throw DefaultsError(
                    .typeMismatch, expected: "\(expected)", found: "a secret that is none", at: error.path)
            }
            throw error.inTypeLanguage
        }
    }
}

private func content(
    of value: PropertyList, at path: PropertyListPath, as type: ConfigType
) throws(DefaultsError) -> ConfigContent {
    switch type {
    case .string: .string(try one("String", value, path) { String($0) })
    case .int: .int(try one("Int", value, path) { Int($0) })
    case .double: .double(try one("Double", value, path) { Double($0) })
    case .bool: .bool(try one("Bool", value, path) { Bool($0) })
    case .bytes: .bytes(try one("Data", value, path) { $0.data })
    case .stringArray: .stringArray(try all("String", value, path) { String($0) })
    case .intArray: .intArray(try all("Int", value, path) { Int($0) })
    case .doubleArray: .doubleArray(try all("Double", value, path) { Double($0) })
    case .boolArray: .boolArray(try all("Bool", value, path) { Bool($0) })
    case .byteChunkArray: .byteChunkArray(try all("Data", value, path) { $0.data })
    }
}

private func one<Value>(
    _ name: String, _ value: PropertyList, _ path: PropertyListPath, _ make: (PropertyList) -> Value?
) throws(DefaultsError) -> Value {
    if let made = make(value) { return made }
    throw DefaultsError(.typeMismatch, expected: name, found: "\(value.kind)", at: path)
}

private func all<Value>(
    _ name: String, _ value: PropertyList, _ path: PropertyListPath, _ make: (PropertyList) -> Value?
) throws(DefaultsError) -> [Value] {
    guard value.kind == .array else {
        throw DefaultsError(.typeMismatch, expected: "[\(name)]", found: "\(value.kind)", at: path)
    }
    var values: [Value] = []
    for (index, element) in value.elements.enumerated() {
        values.append(try one(name, element, path.appending(.index(index)), make))
    }
    return values
}
