internal import CKVSystem
internal import Glibc
internal import PropertyLists

extension PropertyListFileEngine {
    /// The outcome of reading the file.
    enum Reading {
        case none
        case good(ParsedFile, FileStamp)
        case unreadable(DefaultsError, FileStamp)
    }

    func refresh(
        over memory: () throws(DefaultsError) -> PropertyList, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState {
        // The lock belongs to the place where the file is now.
        if try follow(), isLocked {
            unlock()
            _ = try lock(until: deadline)
        }
        let current = try folder.status(of: folder.fileName).map { FileStamp($0) }
        if hasLoaded, current == stamp, !stampIsRecent {
            found = nil
            return .unchanged
        }
        // A file that was found damaged, and has not been written for as long as it is given, is not read again.
        if let found, found.isInContents, found.stamp == current, !mayBeHalfWritten(found.stamp) {
            return try answer(found.error, found.stamp, try memory(), until: deadline)
        }
        // Looked for before the file is: a backup that comes later may be newer than the document.
        let backup = backupStamp()
        switch try settledReading(folder.fileName, until: deadline) {
        case .none:
            guard let old = stamp else {
                // A program may be about to write it.
                if !hasLoaded, try hasFilesBeside { absence = .after(Self.briefAbsence) }
                found = nil
                hasLoaded = true
                return .unchanged
            }
            if try awaitFile(old, until: deadline) { return try refresh(over: memory, until: deadline) }
            try forget(memory)
            return .replaced(emptyDictionary)
        case .good(let file, let stamp):
            olderBackup = backup
            return adopt(file, stamp)
        case .unreadable(let error, let stamp): return try answer(error, stamp, try memory(), until: deadline)
        }
    }

    // MARK: - A file that is not there

    private static var briefAbsence: Duration { .milliseconds(200) }

    /// Whether a backup or a lock file lies where the store's file would be.
    private var hasFilesBeside: Bool {
        get throws(DefaultsError) {
            if try folder.status(of: backupName) != nil { return true }
            return try folder.status(of: ".\(folder.fileName).lock") != nil
        }
    }

    /// Waits for a file that is gone: a program that replaces it may remove it first.
    ///
    /// - Returns: whether it is there again.
    /// - Throws: ``DefaultsError/Code/timedOut`` while it may still come.
    private func awaitFile(_ old: FileStamp, until deadline: Deadline) throws(DefaultsError) -> Bool {
        let absence = self.absence ?? .after(old.size > 1 << 20 ? .seconds(1) : Self.briefAbsence)
        self.absence = absence
        while !absence.hasPassed {
            guard !deadline.hasPassed else {
                throw DefaultsError(.timedOut, "The file is not there at the moment", file: folder.path)
            }
            deadline.sleep(.milliseconds(5))
            if try folder.status(of: folder.fileName) != nil { return true }
        }
        return false
    }

    /// Takes the store for empty, and keeps what was in it as the backup.
    private func forget(_ memory: () throws(DefaultsError) -> PropertyList) throws(DefaultsError) {
        let document = try memory()
        (stamp, absence, found, stampIsRecent) = (nil, nil, nil, false)
        let isKept = !isReadOnly && document.count > 0 && (try? keepBackup(document)) != nil
        report?(.removed(file: folder.path, backup: isKept ? folder.path(of: backupName) : nil))
    }

    /// Before the first write of a store without a file: waits for one that another program may be about to write.
    func awaitFirstFile(until deadline: Deadline) throws(DefaultsError) {
        guard stamp == nil, let absence else { return }
        while !absence.hasPassed, !deadline.hasPassed, try folder.status(of: folder.fileName) == nil {
            deadline.sleep(.milliseconds(5))
        }
        self.absence = nil
    }

    /// Takes the document of the file that was read as the stored one.
    func adopt(_ file: ParsedFile, _ stamp: FileStamp) -> EngineState {
        adopt(stamp)
        // A text without values, such as "{}", has no format of its own.
        if file.format != .openStep { format = file.format }
        hasLayout = file.hasLayout
        return .replaced(file.list)
    }

    func adopt(_ stamp: FileStamp) {
        self.stamp = stamp
        absence = nil
        found = nil
        hasLoaded = true
        // The system's clock for files ticks every 4 to 10 ms.
        stampIsRecent = stamp.age < 20_000_000
    }

    /// Reads the file. One that is damaged but fresh may be half-written by a program that writes into it, as
    /// Foundation's UserDefaults does: it is given ``EngineOptions/settleTime`` from its last change.
    private func settledReading(_ name: String, until deadline: Deadline) throws(DefaultsError) -> Reading {
        while true {
            let reading = try read(name)
            guard case .unreadable(let error, let stamp) = reading, error.code == .corrupt, mayBeHalfWritten(stamp)
            else { return reading }
            guard !deadline.hasPassed else {
                throw DefaultsError(
                    .timedOut, "Another program is writing the file: \(error.message)", file: error.file)
            }
            deadline.sleep(.milliseconds(10))
        }
    }

    /// Whether the damaged file was written less than ``EngineOptions/settleTime`` ago. One whose time lies ahead, by a server's
    /// clock or since the clock was set back, counts from when it was seen first.
    private func mayBeHalfWritten(_ stamp: FileStamp) -> Bool {
        if stamp.age >= 0 { return .nanoseconds(stamp.age) < options.settleTime }
        if ahead?.stamp != stamp { ahead = (stamp, .after(options.settleTime)) }
        return ahead.map { !$0.settles.hasPassed } ?? false
    }

    func read(_ name: String) throws(DefaultsError) -> Reading {
        guard let status = try folder.status(of: name) else { return .none }
        do throws(DefaultsError) {
            return try readContents(name)
        } catch {
            return .unreadable(error, FileStamp(status))
        }
    }

    private func readContents(_ name: String) throws(DefaultsError) -> Reading {
        // Not blocking: a FIFO that took the file's name must not hang us.
        guard let file = try folder.openFile(name, O_RDONLY | O_NONBLOCK) else { return .none }
        let stamp = try regularStamp(of: file)
        guard stamp.size <= limits.readableFile else {
            return .unreadable(limits.tooLarge(stamp.size, file: file.path), stamp)
        }
        let bytes = try file.readToEnd()
        // A file that another has replaced is whole: only its time of change is another.
        guard try FileStamp(file.status()).isSameContent(as: stamp) else {
            return .unreadable(DefaultsError(.corrupt, "The file changed while it was read", file: file.path), stamp)
        }
        guard !bytes.isEmpty else {
            return .unreadable(DefaultsError(.corrupt, "The file is empty", file: file.path), stamp)
        }
        return try parse(bytes, stamp, file: file.path)
    }

    func regularStamp(of file: FileDescriptor) throws(DefaultsError) -> FileStamp {
        let status = try file.status()
        guard status.st_mode & S_IFMT == S_IFREG else { throw DefaultsError.noFile(file.path) }
        return FileStamp(status)
    }

    private func parse(_ bytes: [UInt8], _ stamp: FileStamp, file: String) throws(DefaultsError) -> Reading {
        let parsed: ParsedFile
        do throws(PropertyListError) {
            let format = PropertyListFormat.expected(inFile: file, bytes)
            parsed = try ParsedFile(parsing: bytes, as: format, limits: limits.reading)
        } catch {
            var unreadable = DefaultsError(error, file: file)
            // A value that a property list cannot hold is damage of the file; a passed limit never is.
            if unreadable.code != .limitExceeded { unreadable.code = .corrupt }
            return .unreadable(unreadable, stamp)
        }
        let isOpenStep = parsed.format == .openStep
        guard parsed.list.kind == .dictionary else {
            // Any word is an OpenStep string: such a file is more likely damaged than meant.
            let words = ErrorWords.expected("Dictionary at the root", found: "\(parsed.list.kind)")
            return .unreadable(DefaultsError(isOpenStep ? .corrupt : .invalidValue, words, file: file), stamp)
        }
        guard !isOpenStep || parsed.list.count == 0 else {
            let words = ErrorWords.wrong(
                "The file of a store cannot be OpenStep text",
                advice: "kvdefaults convert FILE FILE --to xml makes XML of it")
            return .unreadable(DefaultsError(.invalidValue, words, file: file), stamp)
        }
        return .good(parsed, stamp)
    }
}
