internal import CSystem
internal import Glibc

extension PropertyListFileEngine {
    /// Puts a file with these bytes in the place of the old one, durably; gives the new file's stamp.
    ///
    /// Whatever fails, the temporary file goes and the old file stays. A descriptor whose fsync failed is never
    /// fsynced again, since the system may have dropped what it could not write.
    func replaceFile(with bytes: [UInt8]) throws(DefaultsError) -> FileStamp {
        let old = try folder.status(of: folder.fileName)
        // A rename would put a file in the place of a device as well.
        if let old, old.st_mode & S_IFMT != S_IFREG { throw DefaultsError.noFile(folder.path) }
        let name = "." + folder.fileName + "." + randomName() + ".tmp"
        do throws(DefaultsError) {
            let stamp = try writeTemporary(name, bytes, like: old)
            try checkUnchanged()
            keepBackup(of: old)
            try folder.rename(name, to: folder.fileName)
            try folder.descriptor.synchronize()
            // The rename has changed the file's ctime; nothing else is as it was where another program has written
            // since, whose change the next look has to find.
            let found = try folder.status(of: folder.fileName).map { FileStamp($0) }
            return found.map { $0.isSameContent(as: stamp) ? $0 : stamp } ?? stamp
        } catch {
            folder.unlink(name)
            throw error
        }
    }

    /// A last look before the old file goes: a program that writes in place, without our lock, may have written it
    /// while the new one was being made.
    private func checkUnchanged() throws(DefaultsError) {
        guard isChecking else { return }
        guard try folder.status(of: folder.fileName).map({ FileStamp($0) }) == stamp else {
            throw DefaultsError(.conflict, "The file changed while it was being replaced", file: folder.path)
        }
    }

    private func writeTemporary(
        _ name: String, _ bytes: [UInt8], like old: stat?
    ) throws(DefaultsError) -> FileStamp {
        guard let file = try folder.openFile(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600) else {
            throw DefaultsError.system("open", ENOENT, file: folder.path)
        }
        try file.write(bytes)
        try adopt(old, file)
        stampPrecisely(file)
        try file.synchronize()
        let stamp = FileStamp(try file.status())
        try file.close()
        return stamp
    }

    /// Gives the new file mode, owner and group of the old one, as far as the caller may; never more access.
    private func adopt(_ old: stat?, _ file: FileDescriptor) throws(DefaultsError) {
        var mode: mode_t = 0o600
        if let old {
            mode = old.st_mode & 0o777
            let new = try file.status()
            if new.st_uid != old.st_uid || new.st_gid != old.st_gid,
                fchown(file.number, old.st_uid, old.st_gid) != 0, fchown(file.number, uid_t.max, old.st_gid) != 0
            {
                // What the old group might do is not given to another.
                mode &= 0o700 | (mode & 0o007 & (mode >> 3))
            }
        }
        guard fchmod(file.number, mode) == 0 else { throw DefaultsError.system("fchmod", errno, file: file.path) }
    }

    /// Sets the file's time to the nanosecond: the system's own stands still for milliseconds, in which another file
    /// of the same size could take this one's inode number and look like it.
    private func stampPrecisely(_ file: FileDescriptor) {
        let now = cs_realtime_nanoseconds()
        let time = timespec(tv_sec: Int(now / 1_000_000_000), tv_nsec: Int(now % 1_000_000_000))
        _ = [time, time].withUnsafeBufferPointer { futimens(file.number, $0.baseAddress) }
    }

    /// Keeps the last good file as `NAME.bak`, before the first write of a session. A write does without it when the
    /// file system has no hard links.
    private func keepBackup(of old: stat?) {
        guard !hasBackup, let old, old.st_mode & S_IFMT == S_IFREG, old.st_size > 0, stamp == FileStamp(old) else {
            return
        }
        let name = "." + folder.fileName + "." + randomName() + ".tmp"
        do throws(DefaultsError) {
            try folder.link(folder.fileName, to: name)
            try folder.rename(name, to: folder.fileName + ".bak")
        } catch {
            folder.unlink(name)
        }
        hasBackup = true
    }

    func keepCopy(named suffix: String) throws(DefaultsError) {
        guard try folder.status(of: folder.fileName) != nil else { return }
        let name = folder.fileName + "." + suffix
        guard try folder.status(of: name) == nil else { return }
        try folder.link(folder.fileName, to: name)
    }
}
