internal import Glibc
internal import PropertyLists

/// Keeps the changes of a store whose file cannot be read when the program ends.
extension Domain {
    /// Writes all values in memory into a file of their own, `NAME.unsaved-TIME`, and says so on standard error, the
    /// one way that is left: only where the store's file cannot be read, and memory has values that are not in the
    /// backup either. Nothing ever reads it back by itself.
    func keepUnsaved() {
        guard lock.withLock({ health.unreadable != nil }) else { return }
        // The file may be in order again.
        try? refresh(until: .after(.seconds(2)))
        guard let folder = engine.watchedFolder, let cause = lock.withLock({ health.unreadable }),
            writerLock.acquire(until: .after(.seconds(2)))
        else { return }
        defer { writerLock.release() }
        let hasChanges = lock.withLock { mine.hasChanges }
        guard !engine.options.isReadOnly, hasChanges || !engine.isBackedUp else { return }
        do throws(DefaultsError) {
            complain("\(cause); what is not in it is kept in \(try writeUnsaved(folder))")
        } catch {
            complain("\(cause); what is not in it could not be kept: \(error)")
        }
    }

    /// Lets go of the store's file when its last handle is closed, or the program ends: the last to do so leaves a
    /// database in one file, without its journal. A later call opens it again.
    func letGo() {
        guard engine.watchedFolder != nil, !writerLock.isHeldByThisThread, writerLock.acquire(until: .after(.zero))
        else { return }
        engine.prepareFork()
        writerLock.release()
    }

    /// Says on standard error that changes are lost, since they could not be written while the program ended; but for a
    /// file that cannot be read, beside which ``keepUnsaved()`` keeps them.
    func complainOfLoss(_ error: DefaultsError) {
        let (isLost, isUnknown) = lock.withLock {
            if case .doubtful = health { return (false, true) }
            return (health.unreadable == nil && mine.hasChanges, false)
        }
        if isLost {
            complain("\(error); the last changes are lost")
        } else if isUnknown {
            complain("\(error); whether the last changes are stored is not known")
        }
    }

    /// Its name ends with `.part` until it is whole. It is no temporary file, which others remove: the lock is theirs.
    ///
    /// - Returns: the new file's path.
    private func writeUnsaved(_ folder: StoreFolder) throws(DefaultsError) -> String {
        let document = try snapshot()
        let bytes = try translating { () throws(PropertyListError) in try document.fileContents(as: engine.format) }
        let name = "\(folder.fileName).unsaved-\(currentTime())-\(randomName())"
        let part = name + ".part"
        guard let file = try folder.openFile(part, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600) else {
            throw DefaultsError.system("open", ENOENT, file: folder.path(of: part))
        }
        do throws(DefaultsError) {
            try file.write(bytes)
            try file.synchronize()
            try file.close()
            try folder.rename(part, to: name)
            try folder.descriptor.synchronize()
        } catch {
            folder.unlink(part)
            folder.unlink(name)
            throw error
        }
        return folder.path(of: name)
    }

    private func complain(_ text: String) {
        let line = Array("kvcodable: \(text)\n".utf8)
        _ = line.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
