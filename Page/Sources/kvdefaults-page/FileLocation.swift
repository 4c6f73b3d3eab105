import Glibc

/// The location of a store's file: a folder that was removed and made again is another one, and so is a link's new
/// target.
struct FileLocation: Equatable {
    private let file: String
    private let device: dev_t
    private let folder: ino_t

    /// Nil where the folder is not there.
    init?(_ path: String?) {
        guard let path, let slash = path.lastIndex(of: "/") else { return nil }
        let name = path[path.index(after: slash)...]
        let file = Self.real(path) ?? Self.real(String(path[...slash])).map { "\($0)/\(name)" }
        var status = stat()
        guard let file, let end = file.lastIndex(of: "/"), stat(String(file[...end]), &status) == 0 else { return nil }
        (self.file, device, folder) = (file, status.st_dev, status.st_ino)
    }

    private static func real(_ path: String) -> String? {
        guard let path = realpath(path, nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }
}
