internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// The folder of a store's file, held open, and the file's name in it: where all of the engine's calls begin.
///
/// Working from an open folder means that it cannot be swapped between two calls.
final class StoreFolder: Sendable {
    let descriptor: FileDescriptor
    let fileName: String
    /// The file's path as messages show it.
    let path: String
    /// The path that the folder was opened by, without the file's name.
    private let given: String
    /// The folder and the file, with each link that led there.
    private let way: [Waypoint]

    /// A folder on the way to a file, and the link in it that leads on.
    private struct Waypoint {
        let folder: String
        let folderIdentity: FileIdentity
        let link: String
        /// nil for the file itself, which is no link.
        let linkIdentity: FileIdentity?
    }

    private init(_ descriptor: FileDescriptor, given: String, fileName: String, way: [Waypoint] = []) {
        self.descriptor = descriptor
        self.given = given
        self.fileName = fileName
        self.way = way
        path = Self.path(of: fileName, in: descriptor.path)
    }

    /// The path of the file `name` in the folder, as messages show it.
    func path(of name: String) -> String { Self.path(of: name, in: descriptor.path) }

    private static func path(of name: String, in folder: String) -> String {
        folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }

    /// Opens the folder that the file at `path` lies in. Symbolic links of the file's name are followed, as those who
    /// keep their settings elsewhere make them, one to the next: where each link, and each folder on the way, is the
    /// user's or root's, and not everybody may rename its files.
    static func open(_ path: String) throws(DefaultsError) -> StoreFolder {
        // A fault is told of the path as it was given.
        _ = try parts(of: path)
        var folder = try direct(absolute(path))
        var way: [Waypoint] = []
        for _ in 0..<40 {
            let link = try folder.status(of: folder.fileName).flatMap { $0.st_mode & S_IFMT == S_IFLNK ? $0 : nil }
            way.append(
                Waypoint(
                    folder: folder.given, folderIdentity: FileIdentity(try folder.descriptor.status()),
                    link: folder.fileName, linkIdentity: link.map { FileIdentity($0) }))
            guard let status = link else {
                return StoreFolder(folder.descriptor, given: folder.given, fileName: folder.fileName, way: way)
            }
            let target = try folder.linkTarget()
            let next = try direct(target.hasPrefix("/") ? target : folder.path(of: target))
            let statuses = [try folder.descriptor.status(), try next.descriptor.status()]
            guard ([status] + statuses).allSatisfy({ $0.st_uid == geteuid() || $0.st_uid == 0 }) else {
                throw DefaultsError(
                    .unsafeLocation, "A symbolic link, or a folder on its way, belongs to somebody else", file: path)
            }
            guard !statuses.contains(where: { $0.isOpenToEverybody }) else {
                throw DefaultsError(
                    .unsafeLocation, "Everybody may rename files in a folder on the way of a symbolic link", file: path)
            }
            folder = next
        }
        throw DefaultsError(.unsafeLocation, "More than 40 symbolic links lead from one to the next", file: path)
    }

    /// A folder, to look at the names in it.
    static func folder(_ path: String) throws(DefaultsError) -> StoreFolder { try direct(path + "/-") }

    /// The folder and the name that a path leads to.
    private static func parts(of path: String) throws(DefaultsError) -> (folder: String, name: String) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DefaultsError(.invalidName, .expected("the path of a file", found: "\"\(path)\""))
        }
        var folder = "."
        var name = path
        if let slash = path.lastIndex(of: "/") {
            folder = slash == path.startIndex ? "/" : String(path[..<slash])
            name = String(path[path.index(after: slash)...])
        }
        guard !name.isEmpty, name != ".", name != ".." else {
            throw DefaultsError(.invalidName, .expected("the path of a file", found: "the folder \"\(path)\""))
        }
        return (folder, name)
    }

    private static func direct(_ path: String) throws(DefaultsError) -> StoreFolder {
        let (folder, name) = try parts(of: path)
        let number = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw DefaultsError.system("open", errno, file: folder) }
        return StoreFolder(FileDescriptor(number, path: realPath(of: number) ?? folder), given: folder, fileName: name)
    }

    /// A path that means the same wherever the program goes.
    private static func absolute(_ path: String) -> String {
        if path.isEmpty || path.hasPrefix("/") { return path }
        guard let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return Self.path(of: path, in: String(cString: folder))
    }

    // MARK: - The way to the folder

    /// The folders of the links that led to the file, for a watch of them.
    var linkFolders: [String] { way.filter { $0.linkIdentity != nil }.map { $0.folder } }

    /// Whether the path that the folder was opened by leads to it still, through the same links.
    var isWhereItWas: Bool {
        way.allSatisfy { step in
            var status = stat()
            guard stat(step.folder, &status) == 0, FileIdentity(status) == step.folderIdentity else { return false }
            let path = Self.path(of: step.link, in: step.folder)
            var character: CChar = 0
            // The times of a database are not asked for: they would be written with its next commit.
            guard readlink(path, &character, 1) > 0 else { return step.linkIdentity == nil }
            return lstat(path, &status) == 0 && FileIdentity(status) == step.linkIdentity
        }
    }

    /// The folder that the path leads to now, if it leads elsewhere or through other links.
    ///
    /// A folder to which no path leads any more, as after a chroot, counts as long as it exists.
    ///
    /// - Throws: the error of a place that is not to be trusted, or if the folder is gone.
    func followedAgain() throws(DefaultsError) -> StoreFolder? {
        guard let first = way.first, !isWhereItWas else { return nil }
        do throws(DefaultsError) {
            return try Self.open(Self.path(of: first.link, in: first.folder))
        } catch {
            if error.code == .unsafeLocation { throw error }
            if try descriptor.status().st_nlink > 0 { return nil }
            throw error
        }
    }

    /// The folder's path without links, so that it means the same wherever the program goes.
    private static func realPath(of number: Int32) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let length = readlink("/proc/self/fd/\(number)", &buffer, buffer.count)
        guard length > 0, length < buffer.count, buffer[0] == CChar(UInt8(ascii: "/")) else { return nil }
        return String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The path of the file `name` for a library that opens files by their paths: where the folder is now, which may
    /// have been renamed.
    func currentPath(of name: String) throws(DefaultsError) -> String {
        guard let folder = Self.realPath(of: descriptor.number) else {
            throw DefaultsError.system("readlink", errno, file: path)
        }
        return Self.path(of: name, in: folder)
    }

    /// The file `name` in the folder, not followed; nil when there is none.
    func status(of name: String) throws(DefaultsError) -> stat? {
        var status = stat()
        if fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        guard errno == ENOENT else { throw DefaultsError.system("stat", errno, file: path) }
        return nil
    }

    /// The file `name` in the folder; nil if there is none.
    func identity(of name: String) throws(DefaultsError) -> FileIdentity? {
        var identity = FileIdentity()
        if cs_identity(descriptor.number, name, &identity.device, &identity.inode) == 0 { return identity }
        guard errno == ENOENT else { throw DefaultsError.system("stat", errno, file: path) }
        return nil
    }

    private func linkTarget() throws(DefaultsError) -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let length = buffer.withUnsafeMutableBytes { bytes in
            guard let base = bytes.bindMemory(to: CChar.self).baseAddress else { return -1 }
            return readlinkat(descriptor.number, fileName, base, bytes.count)
        }
        guard length > 0, length < buffer.count else { throw DefaultsError.system("readlink", errno, file: path) }
        return String(decoding: buffer[..<length], as: UTF8.self)
    }

    /// Opens a file of the folder; nil when there is none and none is to be made.
    func openFile(_ name: String, _ flags: Int32, mode: mode_t = 0) throws(DefaultsError) -> FileDescriptor? {
        var interruptions = Interruptions()
        while true {
            let number = openat(descriptor.number, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, mode)
            if number >= 0 { return FileDescriptor(number, path: path(of: name)) }
            if errno == ENOENT, flags & O_CREAT == 0 { return nil }
            guard interruptions.shouldRetry(errno) else {
                throw DefaultsError.system("open", errno, file: path(of: name))
            }
        }
    }

    func rename(_ old: String, to new: String) throws(DefaultsError) {
        guard renameat(descriptor.number, old, descriptor.number, new) == 0 else {
            throw DefaultsError.system("rename", errno, file: path)
        }
    }

    /// The ways of a file to a name that another file may have.
    enum Replacement {
        /// The two exchange their names.
        case exchange
        /// None is there: `EEXIST` where one is.
        case none
    }

    /// Renames a file without losing another.
    ///
    /// - Returns: false, and nothing has changed, where the file system cannot do that.
    func rename(_ old: String, to new: String, _ replacement: Replacement) throws(DefaultsError) -> Bool {
        let result =
            switch replacement {
            case .exchange: cs_rename_exchange(descriptor.number, old, new)
            case .none: cs_rename_new(descriptor.number, old, new)
            }
        if result == 0 { return true }
        if [EINVAL, ENOSYS, EOPNOTSUPP].contains(errno) { return false }
        throw DefaultsError.system("rename", errno, file: path)
    }

    func link(_ old: String, to new: String) throws(DefaultsError) {
        guard linkat(descriptor.number, old, descriptor.number, new, 0) == 0 else {
            throw DefaultsError.system("link", errno, file: path)
        }
    }

    /// The name of a copy of the store's file.
    func copyName(_ suffix: String) -> String { fileName + "." + suffix }

    func removeCopy(named suffix: String) { unlink(copyName(suffix)) }

    func unlink(_ name: String) { _ = unlinkat(descriptor.number, name, 0) }

    /// The reason why the store's file must not be written; nil where it may be.
    func refusal(isReadOnly: Bool) throws(DefaultsError) -> DefaultsError? {
        if try descriptor.status().isOpenToEverybody {
            return DefaultsError(
                .unsafeLocation, "Everybody may write to the folder and rename its files", file: descriptor.path)
        }
        if isReadOnly { return DefaultsError(.readOnly, "The store was opened read-only", file: path) }
        guard cs_is_mount_point(descriptor.number, fileName) == 0 else {
            return DefaultsError(
                .readOnly, "The file is a mount point, and cannot be replaced: mount its folder instead", file: path)
        }
        return nil
    }

    /// As ``refusal(isReadOnly:)``, with the error of finding it out.
    func refusalOrError(isReadOnly: Bool) -> DefaultsError? {
        do throws(DefaultsError) {
            return try refusal(isReadOnly: isReadOnly)
        } catch {
            return error
        }
    }

    /// - Throws: where the file's name leaves no room for the names of the files beside it.
    func checkName() throws(DefaultsError) {
        let most = fpathconf(descriptor.number, Int32(_PC_NAME_MAX)) - Self.longestAddition
        guard most > 0, fileName.utf8.count > most else { return }
        throw DefaultsError(
            .invalidName, .expected("a file's name of at most \(most) bytes", found: "\(fileName.utf8.count)"),
            file: path)
    }

    /// The bytes that the longest name of a file beside the store's adds to it: `.unsaved-TIME-RANDOM.part`.
    private static let longestAddition = 44

    var isGroupWritable: Bool {
        guard let mode = try? descriptor.status().st_mode else { return false }
        return mode & S_IWGRP != 0 && mode & S_ISVTX == 0
    }

    /// The names in the folder that begin with `prefix` and end with `suffix`.
    func names(withPrefix prefix: String, suffix: String) -> [String] {
        let copy = openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return [] }
        guard let stream = fdopendir(copy) else {
            Glibc.close(copy)
            return []
        }
        defer { closedir(stream) }
        var result: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.utf8.starts(with: prefix.utf8), name.hasSuffix(suffix) { result.append(name) }
        }
        return result
    }
}

/// A file, whatever its name. The number of a removed file that nobody has open may belong to the next one.
struct FileIdentity: Hashable {
    var device: UInt64 = 0
    var inode: UInt64 = 0
}

extension FileIdentity {
    init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }
}

extension stat {
    /// Whether everybody may rename the files of a folder.
    fileprivate var isOpenToEverybody: Bool { st_mode & S_IWOTH != 0 && st_mode & S_ISVTX == 0 }
}
