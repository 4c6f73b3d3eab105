public import CodableTypes
internal import DefaultsStorage
internal import Glibc

extension TypeRegistry {
    /// Declares the structs and enums of a text file, as `declare(_:)` those of a text: one file for programs in Swift
    /// and C and for scripts. Gives them in its order.
    ///
    /// ```swift
    /// let settings = try TypeRegistry.default.declare(file: "settings.kvtypes")[0]
    /// ```
    ///
    /// - Throws: `TypeError` with file, line and column of the fault in the text; ``DefaultsError`` when the file
    ///   cannot be read, or has more than 16 MB. Nothing is declared then.
    @discardableResult
    public func declare(file path: String) throws -> [CodableType] {
        guard let types = try declare(fileIfThere: path) else {
            throw DefaultsError(.io, "There is no such file", file: path, errno: ENOENT)
        }
        return types
    }

    /// The same; nil where there is no file.
    package func declare(fileIfThere path: String) throws -> [CodableType]? {
        try PropertyListFile.contents(of: path, most: 16 << 20).map { try declare($0, file: path) }
    }
}
