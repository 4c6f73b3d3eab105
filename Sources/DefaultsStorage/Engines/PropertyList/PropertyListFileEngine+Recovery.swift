internal import Glibc
internal import PropertyLists

/// A file that could not be read.
struct UnreadableFile {
    var error: DefaultsError
    var stamp: FileStamp

    /// Whether the file's content cannot be read, and not the file itself, by a permission, a failing disk, or a folder
    /// of its name: in those cases nothing but another look tells when it can be.
    var isInContents: Bool { [.corrupt, .invalidValue, .limitExceeded].contains(error.code) }
}

extension PropertyListFileEngine {
    /// A good document to go on with.
    private struct GoodCopy {
        var list: PropertyList
        var source: DefaultsRecovery
        var hasLayout: Bool
        /// Of a backup.
        var stamp: FileStamp?
    }

    /// Throws the error of a file that cannot be read, and moves nothing, unless the program asked to recover.
    func answer(
        _ error: DefaultsError, _ damaged: FileStamp, _ base: PropertyList, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState {
        if isUnrecoverable {
            adopt(damaged)
            return .unchanged
        }
        if options.recovers, !isReadOnly, error.code == .corrupt,
            let state = try recover(from: error, damaged, base, until: deadline)
        {
            return state
        }
        if found?.stamp != damaged {
            found = UnreadableFile(error: error, stamp: damaged)
            if hasLoaded { report?(.unreadable(error)) }
        }
        throw error
    }

    private func backup() -> GoodCopy? {
        guard case .good(let file, let stamp)? = try? read(backupName) else { return nil }
        let source = DefaultsRecovery.backup(age: .nanoseconds(max(stamp.age, 0)))
        return GoodCopy(list: file.list, source: source, hasLayout: file.hasLayout, stamp: stamp)
    }

    /// Whether the backup is newer than the document in memory. One that was there before that was read is not,
    /// whatever the files' times say: a file that is copied or moved here keeps an old one.
    private func isNewer(_ backup: GoodCopy?) -> Bool {
        guard let stamp, let found = backup?.stamp else { return false }
        if let olderBackup, found.isSameContent(as: olderBackup) { return false }
        return found.modified > stamp.modified
    }

    /// The newer of the document in memory and the backup.
    private func bestCopy(_ base: PropertyList) -> GoodCopy? {
        let backup = backup()
        guard hasLoaded, stamp != nil, !isNewer(backup) else { return backup }
        return GoodCopy(list: base, source: .memory, hasLayout: hasLayout)
    }

    /// Keeps the damaged file under another name and goes on with the best copy; nil, and nothing has changed, when
    /// there is none: a file that cannot be read is never taken for an empty one.
    private func recover(
        from error: DefaultsError, _ damaged: FileStamp, _ base: PropertyList, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState? {
        guard let copy = bestCopy(base) else { return nil }
        let wasLocked = isLocked
        do throws(DefaultsError) {
            _ = try lock(until: deadline)
            defer { if !wasLocked { unlock() } }
            // Another process may have recovered it while we waited, or written a newer backup.
            if case .good(let file, let stamp) = try read(folder.fileName) {
                return adopt(file, stamp)
            }
            return try quarantine(bestCopy(base) ?? copy)
        } catch {
            // The holder of the lock may be recovering it.
            if error.code == .timedOut || error.code == .conflict { throw error }
            return openReadOnly(error, copy.list, damaged)
        }
    }

    private func quarantine(_ copy: GoodCopy) throws(DefaultsError) -> EngineState {
        let name = try freeName()
        // A second name first, and the copy over the first: at no time is there no file, which would mean empty.
        try folder.link(folder.fileName, to: name)
        isChecking = false
        defer { isChecking = true }
        do throws(DefaultsError) {
            // The backup has the comments of either copy.
            hasLayout = copy.hasLayout
            try write(copy.list, inLayoutOf: backupName)
        } catch {
            folder.unlink(name)
            throw error
        }
        found = nil
        report?(.recovered(file: folder.path, quarantine: folder.path(of: name), source: copy.source))
        return .replaced(copy.list)
    }

    private func freeName() throws(DefaultsError) -> String {
        let name = "\(folder.fileName).corrupt-\(currentTime())"
        return try folder.status(of: name) == nil ? name : name + "-" + randomName()
    }

    private func openReadOnly(_ cause: DefaultsError, _ copy: PropertyList, _ damaged: FileStamp) -> EngineState {
        let error = DefaultsError(
            .readOnly, "The file is damaged and could not be moved away: \(cause.message)", file: folder.path,
            errno: cause.errno)
        refusal = error
        isUnrecoverable = true
        report?(.unrecoverable(error))
        adopt(damaged)
        return .replaced(copy)
    }
}
