import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

struct Edit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Opens a domain's settings in an editor, as JSON with comments.",
        discussion: """
            The editor is that of VISUAL or EDITOR, else vi. What is wrong is shown, and the editor opens again at its \
            line. Only what was edited is changed: what other programs change meanwhile stays. Secrets are left out, and \
            arrays that hold one: kvdefaults edit DOMAIN 'list[0]' opens an element. Where the changes cannot be made, \
            the text is kept.
            """)

    @OptionGroup var store: StoreArguments
    @Argument(help: "The setting; all of them without one.", completion: .custom(Completion.paths)) var path = ""

    private var domain: Domain { store.domain }

    func run() throws {
        let location = try DomainAccess.path(path, of: domain)
        let type = try domain.type()
        guard type?.member(at: location)?.words.isSecret != true else {
            throw Failure("\(path) is a secret, which is not shown; kvdefaults set sets it", of: domain.text)
        }
        let store = try domain.opened()
        let stored = try about(domain.text) { try base(store, location) }
        let withheld = Withheld(in: stored, type, at: location)
        guard let old = try withheld.leftOut(of: stored) else {
            throw Failure(
                "\(path) holds secrets, which are not shown; kvdefaults edit opens an element, such as \(path)[0]",
                of: domain.text)
        }
        let session = EditSession(
            domain: domain, type: type, location: location, stored: stored, base: old, withheld: withheld)
        try session.edit { new in try apply(new, from: old, at: location) }
    }

    private func base(_ store: DefaultsStore, _ location: PropertyListPath) throws -> PropertyList {
        if location.isEmpty { return try store.dictionary(of: .application) }
        guard let value = try store.value(at: location) else {
            throw Failure.absent("There is no value at \(path)", of: domain.text)
        }
        return value
    }

    /// Merges the edited value with the store's present one, in one step.
    private func apply(_ new: PropertyList, from old: PropertyList, at location: PropertyListPath) throws {
        let count = Difference.between(old, new, at: location).count
        guard count > 0 else { return print("Nothing was changed.") }
        var conflicts: [MergeConflict] = []
        try domain.change { transaction, _ in
            conflicts = try transaction.merge(ancestor: old, ours: new, at: location)
        }
        for conflict in conflicts {
            let outcome = conflict.kept == .ours ? "yours counts" : "the other value stays"
            writeError("kvdefaults: \(domain.text): \(conflict.path.text) was changed meanwhile; \(outcome)")
        }
        print("\(count) \(count == 1 ? "setting" : "settings") changed.")
    }
}

/// A text in a file of its own, opened in an editor until it is right or given up.
private struct EditSession {
    let domain: Domain
    let type: CodableType?
    let location: PropertyListPath
    let stored: PropertyList
    /// The part of it that is shown.
    let base: PropertyList
    let withheld: Withheld

    private struct Fault: Error {
        let message: String
        let line: Int
    }

    /// Has the value edited, and hands it on where the text was changed. Where that fails, the text is kept: it may be
    /// the work of an hour.
    func edit(_ apply: (PropertyList) throws -> Void) throws {
        let first = try about(domain.text) { try JSONText.of(base, comments: comments) + "\n" }
        let file = try TemporaryFile(first)
        do {
            if let new = try edited(file, first) { try apply(new) } else { print("Nothing was changed.") }
            file.remove()
        } catch {
            if (try? TextFile.read(file.path)) == first {
                file.remove()
            } else {
                writeError("kvdefaults: \(domain.text): The text is kept in \(file.path)")
            }
            throw error
        }
    }

    /// The edited value; nil where the text was left as it was.
    private func edited(_ file: TemporaryFile, _ first: String) throws -> PropertyList? {
        var before = first
        var line = 1
        while true {
            try open(file.path, line: line)
            let text = try TextFile.read(file.path)
            if text == first { return nil }
            do {
                return try value(of: text)
            } catch let fault as Fault {
                writeError("kvdefaults: \(domain.text): \(fault.message)")
                // An editor that changes nothing any more would be opened for ever.
                guard text != before else { throw Failure.told }
                (before, line) = (text, fault.line)
            }
        }
    }

    private func value(of text: String) throws -> PropertyList {
        let bytes = CommentedJSON.stripped(Array(text.utf8))
        do {
            let value = try PropertyList(parsing: bytes, as: .json).valueOfJSONForm()
            guard let type else { return value }
            let inner = location.isEmpty ? type : type.member(at: location)?.type
            let whole = try withheld.putBack(into: value, from: stored)
            let faults = inner.map { Check($0).faults(in: whole) } ?? []
            guard let fault = faults.first(where: { !withheld.contains($0.path) }) else { return value }
            let location = PropertyListPath.locations(of: [fault.path], in: bytes, as: .json)[0]
            throw Fault(message: fault.message(at: location), line: location.line)
        } catch let error as PropertyListError {
            throw Fault(message: "\(error)", line: error.location.line)
        }
    }

    /// The documentation of a setting before it, and those that are absent, with their defaults, at the end.
    private func comments(_ inner: PropertyListPath) -> (before: [String], end: [String]) {
        let whole = PropertyListPath(location.steps + inner.steps)
        guard let member = type?.member(at: whole) else { return ([], []) }
        let before = inner.isEmpty ? [] : Self.lines(member.words)
        let present = base.value(at: inner)
        let absent = member.type.members.filter { present?[$0.key] == nil }
        let end = absent.flatMap { absent -> [String] in
            if absent.words.isSecret { return ["\(absent.key) is a secret, which is not shown."] }
            if withheld.contains(inner.appending(.key(absent.key))) {
                let path = whole.appending(.key(absent.key)).appending(.index(0)).text
                return [
                    "\(absent.key) holds secrets, which are not shown.",
                    "An element: kvdefaults edit \(Values.quoted(domain.text)) \(Values.quoted(path))",
                ]
            }
            let value = absent.shownDefault.map { Values.line($0) }
            return Self.lines(absent.words) + [
                "\(Values.line(PropertyList(absent.key))): \(value ?? "\(absent.type)"),"
            ]
        }
        return (before, end)
    }

    private static func lines(_ words: TypeWords) -> [String] {
        let notes = (words.documentation ?? "").split(separator: "\n").map(String.init)
        return notes + (words.deprecation.map { ["Deprecated: \($0)"] } ?? [])
    }

    /// Runs the editor, at a line where it is one that takes a line in front of the file.
    private func open(_ file: String, line: Int) throws {
        let editor = variable("VISUAL") ?? variable("EDITOR") ?? "vi"
        let program = editor.split(separator: " ").first?.split(separator: "/").last.map(String.init) ?? editor
        let known = ["vi", "vim", "nvim", "nano", "emacs", "micro", "kak", "ed", "joe", "ne", "mg"]
        let argument = line > 1 && known.contains(program) ? "+\(line) " : ""
        // As git runs one: the words of the variable are the shell's.
        StandardOutput.flush()
        guard system("\(editor) \(argument)\(Values.quoted(file))") == 0 else {
            throw Failure("The editor \(editor) failed; nothing was changed", of: domain.text)
        }
    }
}

/// The text of a variable of the environment; nil for an empty one.
func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}

/// A file for the editor, which its owner alone may read.
private struct TemporaryFile {
    let path: String

    init(_ text: String) throws {
        let folder = variable("TMPDIR") ?? "/tmp"
        var pattern = Array("\(folder)/kvdefaults-XXXXXX.json".utf8CString)
        let descriptor = mkstemps(&pattern, 5)
        path = pattern.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        guard descriptor >= 0 else { throw Failure(String(cString: strerror(errno)), of: folder) }
        let error = write(text, to: descriptor)
        guard close(descriptor) == 0, error == 0 else {
            unlink(path)
            throw Failure(String(cString: strerror(error == 0 ? errno : error)), of: path)
        }
    }

    func remove() { unlink(path) }
}
