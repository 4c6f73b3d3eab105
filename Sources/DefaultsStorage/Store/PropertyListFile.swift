internal import Glibc
public import PropertyLists

/// Property lists in files of their own, apart from any store: read whole, written whole.
///
/// ```swift
/// if let (shape, format) = try PropertyListFile.read("shape.plist") {
///     let wider = try shape.setting(PropertyList(any: 300), at: ["width"])
///     try PropertyListFile.write(wider, to: "shape.plist", as: format)
/// }
/// ```
public enum PropertyListFile {
    /// The value in the file and the format that it was found in; nil when there is no file.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - format: the format that the file must have; nil to find it from the content, but that a text in a file whose
    ///     name ends in `.json` is never taken for OpenStep.
    ///   - limits: limits of the file's size, and of the value's size and depth.
    /// - Throws: ``DefaultsError`` when the file cannot be read, is too large, or is a database that this program has open
    ///   as a store (``DefaultsError/Code/misuse``: reading it would drop SQLite's locks); `PropertyListError` with the position
    ///   when its bytes are no property list.
    public static func read(
        _ path: String, as format: PropertyListFormat? = nil, limits: PropertyListLimits = PropertyListLimits()
    ) throws -> (list: PropertyList, format: PropertyListFormat)? {
        guard let bytes = try contents(of: path, most: limits.fileBytes) else { return nil }
        let format = format ?? PropertyListFormat.expected(inFile: path, bytes)
        return try PropertyList.parse(bytes, as: format, limits: limits)
    }

    /// The bytes of a file, of any kind; nil when there is none.
    package static func contents(of path: String, most: Int) throws(DefaultsError) -> [UInt8]? {
        let folder: StoreFolder
        do throws(DefaultsError) {
            folder = try StoreFolder.open(path)
        } catch {
            if error.errno == ENOENT { return nil }
            throw error
        }
        return try file(folder)?.readToEnd(most: most)
    }

    /// Opens the folder's file for reading; nil if there is none.
    private static func file(_ folder: StoreFolder) throws(DefaultsError) -> FileDescriptor? {
        try OpenLocks.shared.checkIsNoDatabase(folder)
        // Not blocking: a FIFO of the file's name must not hang the caller.
        guard let file = try folder.openFile(folder.fileName, O_RDONLY | O_NONBLOCK) else { return nil }
        guard try file.status().st_mode & S_IFMT == S_IFREG else { throw DefaultsError.noFile(file.path) }
        return file
    }

    /// The bytes of a file that only the user and root could have written; nil when there is none, nor its folder.
    ///
    /// - Throws: ``DefaultsError/Code/unsafeLocation`` for one that others could write, or in whose folder they could.
    static func trustedContents(of path: String, most: Int) throws(DefaultsError) -> [UInt8]? {
        let folder: StoreFolder
        do throws(DefaultsError) {
            folder = try StoreFolder.open(path)
        } catch {
            if error.errno == ENOENT || error.errno == ENOTDIR { return nil }
            throw error
        }
        guard let file = try file(folder) else { return nil }
        let statuses = [try file.status(), try folder.descriptor.status()]
        guard statuses.allSatisfy({ $0.st_uid == 0 || $0.st_uid == geteuid() }) else {
            throw DefaultsError(
                .unsafeLocation, expected: "the user's or root's", found: "what belongs to somebody else", file: path)
        }
        guard statuses.allSatisfy({ $0.st_mode & S_IWOTH == 0 }) else {
            throw DefaultsError(
                .unsafeLocation, expected: "the user's or root's", found: "what everybody may write", file: path)
        }
        return try file.readToEnd(most: most)
    }

    /// Writes the value as the whole content of the file, durably: in the format given, else as JSON where the name
    /// ends in `.json`, and as XML where it does not. JSON has a line for each value. A reader of the file meanwhile
    /// sees the old content or the new; mode, owner and group of an old file are kept, a new one is the user's alone
    /// (0600). Comments of an old file, and the order of its keys, are not: a ``DefaultsStore`` keeps them.
    ///
    /// - Throws: `PropertyListError` with the path of a value that the format cannot hold; ``DefaultsError`` when the
    ///   file cannot be written, or a folder or device has its name. That, or the old file, is untouched then, but for
    ///   ``DefaultsError/Code/outcomeUnknown``: the new file is there, and a power failure may take it back.
    public static func write(_ list: PropertyList, to path: String, as format: PropertyListFormat? = nil) throws {
        let format = format ?? PropertyListFormat(ofFile: path)
        try write(contents: try list.fileContents(as: format), to: path)
    }

    /// Writes bytes of any kind as the whole content of a file, as durably and with the same mode as
    /// ``write(_:to:as:)``: a text that is made of a value, such as a schema.
    ///
    /// ```swift
    /// try PropertyListFile.write(contents: Array("root S\nstruct S {}\n".utf8), to: "settings.kvtypes")
    /// ```
    ///
    /// - Throws: ``DefaultsError``, as ``write(_:to:as:)`` does.
    public static func write(contents bytes: [UInt8], to path: String) throws {
        let engine = try PropertyListFileEngine(
            StoreFolder.open(path), format: .xml, EngineOptions())
        if let refusal = engine.refusal { throw refusal }
        // The whole content is given: there is nothing of the old file that could be lost.
        engine.isChecking = false
        _ = try engine.replaceFile(with: bytes)
        if let debt = engine.debt { throw debt }
    }
}
