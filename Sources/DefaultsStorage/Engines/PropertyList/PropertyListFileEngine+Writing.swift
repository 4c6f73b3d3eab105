internal import CKVSystem
internal import Glibc
internal import PropertyLists

extension PropertyListFileEngine {
    /// Replaces the old file by one with these bytes, durably; gives the new file's stamp.
    ///
    /// Whatever fails before the rename, the temporary file goes and the old file stays. After it the new file counts,
    /// and `debt` has the error. A descriptor whose fsync failed is never fsynced again, since the system may have
    /// dropped the bytes that it could not write.
    func replaceFile(with bytes: [UInt8]) throws(DefaultsError) -> FileStamp {
        let old = try folder.status(of: folder.fileName)
        // A rename would replace a device by a file as well.
        if let old, old.st_mode & S_IFMT != S_IFREG { throw DefaultsError.noFile(folder.path) }
        let name = temporaryName()
        let written: FileStamp
        do throws(DefaultsError) {
            written = try writeTemporary(name.whole, bytes, like: old)
            // A program that knows nothing of our lock may have written the old file while the new one was being made.
            if isChecking { try expect(stamp) }
        } catch {
            folder.unlink(name.whole)
            throw error
        }
        keepBackup(of: old)
        var failure = try install(name, written, over: isChecking ? stamp : old.map { FileStamp($0) })
        // The new file is there from now on, whatever fails.
        do throws(DefaultsError) {
            try folder.descriptor.synchronize()
        } catch {
            failure = failure ?? error
        }
        debt = failure?.leavingOutcomeUnknown
        // The rename has changed the file's ctime. Where anything else is different, another program has written
        // since, and the next look has to find its change.
        return stamp(of: folder.fileName).map { $0.isSameContent(as: written) ? $0 : written } ?? written
    }

    var changed: DefaultsError {
        DefaultsError(.conflict, "The file changed while it was being replaced", file: folder.path)
    }

    private func writeTemporary(
        _ name: String, _ bytes: [UInt8], like old: stat?
    ) throws(DefaultsError) -> FileStamp {
        guard let file = try folder.openFile(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600) else {
            throw DefaultsError.system("open", ENOENT, file: folder.path)
        }
        try file.write(bytes)
        try adopt(old, file)
        setTime(of: file, cs_realtime_nanoseconds())
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
                // The rights of the old group are not given to another.
                mode &= 0o700 | (mode & 0o007 & (mode >> 3))
            }
        }
        guard fchmod(file.number, mode) == 0 else { throw DefaultsError.system("fchmod", errno, file: file.path) }
    }

    /// Sets the file's time to the nanosecond: the system's own stands still for milliseconds, in which another file
    /// of the same size could take this one's inode number and look like it.
    private func setTime(of file: FileDescriptor, _ nanoseconds: Int64) {
        let time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        _ = [time, time].withUnsafeBufferPointer { futimens(file.number, $0.baseAddress) }
    }

    // MARK: - Backup

    var backupName: String { folder.fileName + ".bak" }

    /// Keeps the file that is about to be replaced as `NAME.bak`, where there is no backup or one that is an hour
    /// older. A write does without it when the file system has no hard links.
    private func keepBackup(of old: stat?) {
        guard let old, old.st_mode & S_IFMT == S_IFREG, old.st_size > 0, stamp == FileStamp(old),
            isBackupDue(FileStamp(old))
        else { return }
        let name = "." + folder.fileName + "." + randomName() + ".tmp"
        do throws(DefaultsError) {
            try folder.link(folder.fileName, to: name)
            try folder.rename(name, to: backupName)
        } catch {
            folder.unlink(name)
        }
    }

    /// Writes a document as the backup.
    func keepBackup(_ document: PropertyList) throws(DefaultsError) {
        let name = temporaryName().whole
        let bytes = try contents(for: document, inLayoutOf: backupName)
        do throws(DefaultsError) {
            _ = try writeTemporary(name, bytes, like: try folder.status(of: backupName))
            try folder.rename(name, to: backupName)
        } catch {
            folder.unlink(name)
            throw error
        }
    }

    func backupStamp() -> FileStamp? { stamp(of: backupName) }

    private func isBackupDue(_ old: FileStamp) -> Bool {
        guard let backup = try? folder.status(of: backupName) else { return true }
        let age = old.modified.subtractingReportingOverflow(FileStamp(backup).modified).partialValue
        // A backup from the future is one from before the clock was set back.
        return age < 0 || age >= 3_600_000_000_000
    }

    func keepCopy(named suffix: String) throws(DefaultsError) {
        guard try folder.status(of: folder.fileName) != nil else { return }
        let temporary = temporaryName().whole
        try folder.link(folder.fileName, to: temporary)
        try folder.rename(temporary, to: folder.copyName(suffix))
    }
}
