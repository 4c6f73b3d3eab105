public import CodableTypes
public import DefaultsStorage
internal import PropertyLists

extension DefaultsSchema {
    /// The schema of a store whose dictionary is of `type`: a struct's fields are the top-level keys, by the names that
    /// the file has; `[String: T]` says that every value is a `T`. Keys that a struct does not declare may hold any
    /// value: a preferences file has other programs' keys.
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
        let entries = try type.entries()
        self.init { key, value in _ = try entries[key]?.read(value, at: [.key(key)]) }
    }
}

extension TypeError: DefaultsSchemaError {
    /// The whole message, with the path, where indexes are counted from `firstIndex`.
    public func message(firstIndex: Int) -> String { message(firstIndex: firstIndex, root: "") }
}
