public import CodableTypes
internal import DefaultsStorage
internal import PropertyLists

/// Types that programs publish for the tools and scripts of others: a store's name, and the text that describes its
/// settings.
///
/// A published type lies in `kvcodable/types/NAME.kvtypes` of the user's data folder (`$XDG_DATA_HOME`, else
/// `~/.local/share`) or of the system's (`$XDG_DATA_DIRS`, else `/usr/local/share` and `/usr/share`), where packages
/// install it. It holds declarations, and a line `root Settings` for the type of the store.
///
/// ```swift
/// let settings = try TypeRegistry.default.declare("struct Settings { volume: Int(0...10) = 7 }")[0]
/// try PublishedTypes.publish(settings, for: "com.acme.player")
///
/// if let found = try PublishedTypes.type(of: "com.acme.player") {
///     options.schema = try DefaultsSchema(found)
/// }
/// ```
public enum PublishedTypes {
    /// Publishes the type of a store for the user, instead of an older one; gives the file.
    ///
    /// - Parameters:
    ///   - type: a declared struct. Converters of a script are not in it: it describes the stored form.
    ///   - name: the store's name, such as `com.acme.player`.
    /// - Throws: `DefaultsError` for a type that has no declaration, and where the file cannot be written; `TypeError`
    ///   for an enum, which no store's schema is.
    @discardableResult
    public static func publish(_ type: CodableType, for name: String) throws -> String {
        guard let text = type.schemaText else {
            throw DefaultsError(.misuse, expected: "a declared type to publish", found: "\(type)")
        }
        _ = try DefaultsSchema(type)
        return try PublishedText.write(Array(text.utf8), name)
    }

    /// The type that is published for a store, declared in a registry of its own; nil where there is none. The user's
    /// counts before the system's.
    ///
    /// - Throws: `TypeError` with the file, and line and column in it, for a text that is wrong; `DefaultsError` for a
    ///   file that is neither the user's nor root's, that everybody may write, or that cannot be read.
    public static func type(of name: String) throws -> CodableType? {
        guard let (bytes, file) = try PublishedText.read(name) else { return nil }
        do throws(TypeError) {
            return try TypeRegistry().schema(String(decoding: bytes, as: UTF8.self))
        } catch {
            var error = error
            error.file = file
            throw error
        }
    }

    /// The names of the stores for which types are published, sorted.
    public static func names() throws -> [String] { try PublishedText.names() }
}
