internal import CSystem
internal import Glibc
internal import PropertyLists

extension PropertyListFileEngine {
    /// What reading the file gave.
    private enum Reading {
        case none
        case good(PropertyList, PropertyListFormat, FileStamp)
        case damaged(DefaultsError, FileStamp)
    }

    func refresh(until deadline: Deadline) throws(DefaultsError) -> EngineState {
        let status = try folder.status(of: folder.fileName)
        let found = status.map { FileStamp($0) }
        if hasLoaded, found == stamp, !stampIsRecent { return .unchanged }
        switch try settledReading(folder.fileName, until: deadline) {
        case .none:
            let isNew = !hasLoaded || stamp != nil
            hasLoaded = true
            stamp = nil
            stampIsRecent = false
            return isNew ? .replaced(emptyDictionary) : .unchanged
        case .good(let list, let format, let stamp):
            adopt(stamp)
            self.format = format == .openStep ? self.format : format
            return .replaced(list)
        case .damaged(let error, let stamp):
            return try recover(from: error, stamp, until: deadline)
        }
    }

    private func adopt(_ stamp: FileStamp) {
        self.stamp = stamp
        hasLoaded = true
        // The system's clock for files ticks every 4 to 10 ms.
        stampIsRecent = stamp.age < 20_000_000
    }

    /// Reads the file. One that is damaged but fresh may be half-written by a program that writes in place, as
    /// Foundation's UserDefaults does: it is given a second from its last change.
    private func settledReading(_ name: String, until deadline: Deadline) throws(DefaultsError) -> Reading {
        while true {
            let reading = try read(name)
            guard case .damaged(let error, let stamp) = reading, stamp.age >= 0, stamp.age < 1_000_000_000 else {
                return reading
            }
            guard !deadline.hasPassed else {
                throw DefaultsError(
                    .timedOut, "Another program is writing the file: \(error.message)", file: error.file)
            }
            deadline.sleep(.milliseconds(10))
        }
    }

    private func read(_ name: String) throws(DefaultsError) -> Reading {
        // Not blocking: a FIFO in the file's place must not hang us.
        guard let file = try folder.openFile(name, O_RDONLY | O_NONBLOCK) else { return .none }
        let status = try file.status()
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw DefaultsError.noFile(file.path)
        }
        let stamp = FileStamp(status)
        let bytes = try file.readToEnd()
        guard try FileStamp(file.status()) == stamp else {
            return .damaged(DefaultsError(.corrupt, "The file changed while it was read", file: file.path), stamp)
        }
        guard !bytes.isEmpty else {
            return .damaged(DefaultsError(.corrupt, "The file is empty", file: file.path), stamp)
        }
        return try parse(bytes, stamp, file: file.path)
    }

    private func parse(_ bytes: [UInt8], _ stamp: FileStamp, file: String) throws(DefaultsError) -> Reading {
        let parsed: (list: PropertyList, format: PropertyListFormat)
        do throws(PropertyListError) {
            parsed = try PropertyList.parse(bytes)
        } catch {
            return .damaged(DefaultsError(error, file: file), stamp)
        }
        if parsed.list.kind == .dictionary { return .good(parsed.list, parsed.format, stamp) }
        let error = DefaultsError(
            .invalidValue, "Expected Dictionary at the root, found \(parsed.list.kind)", file: file)
        // Any word is an OpenStep string: such a file is more likely damaged than meant.
        guard parsed.format == .openStep else { throw error }
        return .damaged(error, stamp)
    }

    // MARK: - Recovery

    /// Keeps the damaged file under another name and goes on with the backup.
    ///
    /// Without a backup the damaged file stays where it is and is an error: what cannot be read is never taken for
    /// empty, and nothing is written over it.
    private func recover(
        from error: DefaultsError, _ damaged: FileStamp, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState {
        if isUnrecoverable {
            adopt(damaged)
            return .unchanged
        }
        guard !isReadOnly, let backup = readBackup() else {
            throw DefaultsError(.corrupt, error.message, file: folder.path)
        }
        let wasLocked = isLocked
        do throws(DefaultsError) {
            _ = try lock(until: deadline)
            defer { if !wasLocked { unlock() } }
            // Somebody may have recovered it while we waited.
            if case .good(let list, let format, let stamp) = try read(folder.fileName) {
                adopt(stamp)
                self.format = format
                return .replaced(list)
            }
            return try quarantine(backup)
        } catch {
            // Whoever has the lock may be recovering it.
            if error.code == .timedOut { throw error }
            return try openReadOnly(error, backup, damaged)
        }
    }

    private func readBackup() -> PropertyList? {
        guard case .good(let list, _, _)? = try? read(folder.fileName + ".bak") else { return nil }
        return list
    }

    private func quarantine(_ backup: PropertyList) throws(DefaultsError) -> EngineState {
        let name = try freeQuarantineName()
        // A second name first, and the backup over the first: at no time is there no file, which would mean empty.
        try folder.link(folder.fileName, to: name)
        // The backup that is being used must not be replaced by what it is about to restore.
        hasBackup = true
        isChecking = false
        defer { isChecking = true }
        do throws(DefaultsError) {
            try write(backup)
        } catch {
            folder.unlink(name)
            throw error
        }
        report?(
            .recovered(
                file: folder.path, quarantine: folder.path(of: name), fromBackup: true))
        return .replaced(backup)
    }

    private func freeQuarantineName() throws(DefaultsError) -> String {
        let name = "\(folder.fileName).corrupt-\(currentTime())"
        return try folder.status(of: name) == nil ? name : name + "-" + randomName()
    }

    private func openReadOnly(
        _ cause: DefaultsError, _ backup: PropertyList, _ damaged: FileStamp
    ) throws(DefaultsError) -> EngineState {
        let error = DefaultsError(
            .readOnly, "The file is damaged and could not be moved away: \(cause.message)", file: folder.path,
            errno: cause.errno)
        refusal = error
        isUnrecoverable = true
        report?(.unrecoverable(error))
        adopt(damaged)
        return .replaced(backup)
    }
}

/// The time in UTC as file names show it: `20261121T080000Z`.
func currentTime() -> String {
    var now = Glibc.time(nil)
    var parts = tm()
    gmtime_r(&now, &parts)
    let numbers = [
        Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday), Int(parts.tm_hour), Int(parts.tm_min),
        Int(parts.tm_sec),
    ]
    let digits = numbers.map { $0 < 10 ? "0\($0)" : "\($0)" }
    return digits[0...2].joined() + "T" + digits[3...5].joined() + "Z"
}
