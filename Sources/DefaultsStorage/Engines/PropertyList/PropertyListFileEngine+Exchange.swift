internal import Glibc
internal import PropertyLists

/// The way of a new file to the store's name.
///
/// A program that knows nothing of our lock may rename a file of its own there at any time, also between our last look
/// and our rename. Therefore the two files exchange their names, and the file that came out is looked at: a stranger
/// gets its name back at once, and the commit is made again over it. The lock file says meanwhile which file is
/// expected to come out, so that the next holder of a killed process's lock can end its exchange.
extension PropertyListFileEngine {
    /// Replaces the `expected` file, nil for none, by our file `name`.
    ///
    /// - Returns: the error after which the new file counts all the same; nil for none.
    /// - Throws: an error after which it does not, ``DefaultsError/Code/conflict`` where another program's file was
    ///   there.
    func install(
        _ name: TemporaryName, _ new: FileStamp, over expected: FileStamp?
    ) throws(DefaultsError) -> DefaultsError? {
        do throws(DefaultsError) {
            if try exchange(name, new, with: expected) {
                guard let expected else { return nil }
                return try settle(ExchangeNote(name: name.middle, new: new, expected: expected))
            }
            if isLocked { try expect(expected) }
            try folder.rename(name.whole, to: folder.fileName)
            return nil
        } catch {
            // The file that has the name now may be another program's.
            if stamp(of: name.whole)?.isSameContent(as: new) == true { folder.unlink(name.whole) }
            // The file that was expected is gone, or there is one; or without the lock another process has taken the
            // new file for a killed writer's.
            throw error.errno == ENOENT || error.errno == EEXIST ? changed : error
        }
    }

    /// - Returns: false where the file system cannot exchange files, or no lock is held.
    private func exchange(
        _ name: TemporaryName, _ new: FileStamp, with expected: FileStamp?
    ) throws(DefaultsError) -> Bool {
        guard let fileLock else { return false }
        guard let expected else { return try folder.rename(name.whole, to: folder.fileName, .none) }
        try fileLock.leave(ExchangeNote(name: name.middle, new: new, expected: expected))
        return try folder.rename(name.whole, to: folder.fileName, .exchange)
    }

    /// - Throws: ``DefaultsError/Code/conflict`` where the store's file is not the expected one.
    func expect(_ expected: FileStamp?) throws(DefaultsError) {
        switch (try folder.status(of: folder.fileName).map { FileStamp($0) }, expected) {
        case (nil, nil): break
        case (let found?, let expected?) where found.isSameContent(as: expected): break
        default: throw changed
        }
    }

    func stamp(of name: String) -> FileStamp? { (try? folder.status(of: name)).flatMap { $0 }.map { FileStamp($0) } }

    // MARK: - The file that came out

    private func settle(_ note: ExchangeNote) throws(DefaultsError) -> DefaultsError? {
        let name = temporaryName(note.name)
        let out: FileStamp?
        do throws(DefaultsError) {
            out = try folder.status(of: name.whole).map { FileStamp($0) }
        } catch {
            // Looked at with the next lock.
            return error
        }
        guard let out, !out.isSameContent(as: note.expected) else {
            folder.unlink(name.whole)
            settled = note
            return nil
        }
        try putBack(note, out)
        settled = note
        throw changed
    }

    /// Gives the stranger that came out its name back; and one that was renamed there meanwhile, too, so that the
    /// newest has it in the end, and an older one is kept.
    private func putBack(_ note: ExchangeNote, _ stranger: FileStamp) throws(DefaultsError) {
        let name = temporaryName(note.name)
        var (placed, held) = (note.new, stranger)
        for _ in 0..<1000 {
            do throws(DefaultsError) {
                guard try folder.rename(name.whole, to: folder.fileName, .exchange) else { return try keep(name) }
            } catch {
                guard error.errno == ENOENT else { throw error }
                // Another program has removed the file since.
                return try keep(name)
            }
            guard let out = try folder.status(of: name.whole).map({ FileStamp($0) }) else { return }
            if out.isSameContent(as: placed) { break }
            (placed, held) = (held, out)
        }
        if stamp(of: name.whole)?.isSameContent(as: note.new) == true { return folder.unlink(name.whole) }
        try keep(name)
    }

    /// Keeps another program's file, whose name a third program has taken, under a name of its own.
    private func keep(_ name: TemporaryName) throws(DefaultsError) {
        let kept = "\(folder.fileName).unsaved-\(currentTime())-\(name.middle)"
        try folder.rename(name.whole, to: kept)
        let words: ErrorWords = "Another program's file is kept"
        report?(.conflict(DefaultsError(.conflict, words, confidential: " as \(kept)", file: folder.path)))
    }

    // MARK: - The files that a killed process left

    /// Ends the exchange of a process that was killed in its midst. With the lock held.
    func settleLeft() throws(DefaultsError) {
        guard let note = fileLock?.note, note != settled else { return }
        let name = temporaryName(note.name)
        if let left = try folder.status(of: name.whole).map({ FileStamp($0) }) { try settle(left, note, name) }
        settled = note
    }

    private func settle(_ left: FileStamp, _ note: ExchangeNote, _ name: TemporaryName) throws(DefaultsError) {
        let current = try folder.status(of: folder.fileName).map { FileStamp($0) }
        if left.isSameContent(as: note.new) || left.isSameContent(as: note.expected)
            || current.map({ $0.isSameContent(as: note.expected) }) == true
        {
            return folder.unlink(name.whole)
        }
        // Other programs have seen the new file under the store's name only since the exchange.
        if let current, current.isSameContent(as: note.new) { return try putBack(note, left) }
        if let current, left.modified > current.modified {
            _ = try folder.rename(name.whole, to: folder.fileName, .exchange)
        }
        try keep(name)
    }
}

/// The name of a temporary file beside the store's, `.NAME.MIDDLE.tmp`.
struct TemporaryName {
    let middle: String
    let whole: String
}

extension PropertyListFileEngine {
    func temporaryName(_ middle: String = randomName()) -> TemporaryName {
        TemporaryName(middle: middle, whole: "." + folder.fileName + "." + middle + ".tmp")
    }
}
