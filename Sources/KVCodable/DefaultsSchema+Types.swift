public import CodableTypes
public import DefaultsStorage
internal import PropertyLists

extension DefaultsSchema {
    /// The schema of a store whose dictionary is of `type`: a struct's fields are the top-level keys, by the names that
    /// the file has; `[String: T]` says that every value is a `T`. Keys that a struct does not declare may hold any
    /// value: a preferences file has other programs' keys.
    ///
    /// Values are shown and set as their types say, without a type at each call: `store.value(at:)` and
    /// `store.set(_:at:)` do the same as with the type of the path, and watches tell values as the type shows them.
    /// Paths name keys as they are stored. Values that a type says nothing of, and those of type Any, are shown as they
    /// are stored; so are all values in a migration. A value that is not of its type is an error of reading it, the
    /// same as with the type given.
    ///
    /// The type's defaults are the lowest of the registered ones, which the program's own replace key by key: the
    /// defaults of top-level fields, and an empty struct for a field that is a struct and needs no value. A field
    /// inside of a value has its default where that value is there; below an optional one that is absent all is absent.
    /// A registered Swift type has no defaults that could be seen here.
    ///
    /// The schema accepts a value where a typed read of its key, as the field's type, gives it.
    ///
    /// ```swift
    /// let settings = try TypeRegistry.default.declare("struct Settings { volume: Int(0...10) = 7; theme: String? }")
    /// options.schema = try DefaultsSchema(settings[0])
    /// ```
    ///
    /// - Throws: `TypeError` for a type that is neither struct nor dictionary.
    public convenience init(_ type: CodableType) throws(TypeError) {
        let types = SchemaTypes(parts: try TypeParts(of: type))
        self.init(types) { key, value in _ = try types.read(value, at: [.key(key)], unset: []) }
    }
}

extension DefaultsStore {
    /// The type that the store's schema has for the value at a path of stored keys; nil where it has none. See
    /// ``CodableTypes/CodableType/type(at:)``.
    public func type(at path: PropertyListPath) -> CodableType? {
        guard path.steps.first != .key(DefaultsMigration.versionKey) else { return nil }
        return (schema?.types as? SchemaTypes)?.parts.type.type(at: path)
    }
}

/// The types of a schema that was made of a type.
private final class SchemaTypes: DefaultsSchemaTypes {
    let parts: TypeParts

    init(parts: TypeParts) {
        self.parts = parts
    }

    /// The part at a path; nil where the schema says nothing of it. The version of migrations is the store's own.
    private func part(at path: PropertyListPath) -> TypeParts.Part? {
        path.steps.first == .key(DefaultsMigration.versionKey) ? nil : parts.part(at: path)
    }

    func defaults() throws -> PropertyList { try parts.defaults() }

    func read(_ stored: PropertyList, at path: PropertyListPath, unset: [PropertyListPath]) throws -> PropertyList? {
        guard let part = part(at: path) else { return stored }
        let filled = parts.facts.hasDeepDefaults ? try parts.filled(stored, at: path) : stored
        let value = try part.type.read(part.type.marking(filled, unset: unset, over: stored), at: path)
        guard value.isNull else { return value }
        return try part.defaultValue.map { try part.type.read($0, at: path) }
    }

    func encode(
        _ value: PropertyList, over stored: PropertyList?, _ change: SchemaChange, at path: PropertyListPath
    ) throws -> (list: PropertyList, dropped: Int)? {
        guard let part = part(at: path) else { return nil }
        let options = CodableType.EncodeOptions(replaces: change.replaces, ancestor: change.ancestor)
        let encoded = try part.type.write(value, over: stored, options: options) { path }
        return (encoded.list, encoded.droppedElements)
    }

    var hasVariants: Bool { parts.facts.hasVariants }

    func isVariant(at path: PropertyListPath) -> Bool { parts.type.isVariant(at: path) }

    func isStructure(at path: PropertyListPath) -> Bool { part(at: path)?.type.isStructure ?? false }

    func hasOptionalDefault(at path: PropertyListPath) -> Bool {
        guard let part = part(at: path) else { return false }
        return part.type.isOptional && part.defaultValue != nil
    }

    func isField(at path: PropertyListPath) -> Bool { part(at: path)?.isField ?? false }

    func missing(at path: PropertyListPath, in top: PropertyList) -> PropertyList? {
        part(at: path) == nil ? nil : parts.missing(at: path, in: top)
    }

    func filled(_ stored: PropertyList, at path: PropertyListPath) throws -> PropertyList {
        part(at: path) == nil ? stored : try parts.filled(stored, at: path)
    }
}

extension TypeError: DefaultsSchemaError {
    /// The whole message, with the path, where indexes are counted from `firstIndex`.
    public func message(firstIndex: Int) -> String { message(firstIndex: firstIndex, root: "") }
}
