import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

struct Watch: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints a line for each change, whoever makes it, until it is interrupted.")

    @OptionGroup var store: StoreArguments
    @Argument(help: "The setting and what is in it; all of them without one.", completion: .custom(Completion.paths))
    var path = ""
    @Flag(help: "Print the commands that make the same changes.") var commands = false
    @Flag(help: "Print JSON, an object on each line.") var json = false
    @Option(help: "End after so many changes.") var count: Int?

    private var domain: Domain { store.domain }

    func validate() throws {
        if json && commands { throw ValidationError("Expected --json or --commands, found both") }
    }

    func run() throws {
        let location = try DomainAccess.path(path, of: domain)
        let type = try domain.type()
        try about(domain.text, type) {
            let printer = ChangePrinter(
                domain: domain, type: type, form: json ? .json : commands ? .commands : .text, most: count)
            var look = try WatchedStore(domain, location, printer)
            while !printer.isOver {
                var entry = pollfd(fd: try look.store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
                poll(&entry, 1, 500)
                if look.isOutdated(domain) { look = try look.reopened(domain, location, printer) }
                try pump(look.store)
                try StandardOutput.check()
            }
        }
    }

    /// Another program may have the file locked, or be in the midst of writing it: the next look is soon.
    private func pump(_ store: DefaultsStore) throws {
        do {
            _ = try store.pump()
        } catch let error where error.code == .timedOut {
            usleep(20_000)
        }
    }
}

/// A store that is watched, and the file that it was opened as.
private struct WatchedStore {
    let store: DefaultsStore
    private let watch: DefaultsWatch
    private let file: String?
    private let hasFolder: Bool

    init(_ domain: Domain, _ location: PropertyListPath, _ printer: ChangePrinter) throws {
        file = domain.file
        hasFolder = file.map(Self.isFolderThere) ?? true
        store = try domain.opened()
        watch = try store.watch(.subtree(location)) { printer.show($0.path, $0.old, $0.new) }
    }

    private static func isFolderThere(of file: String) -> Bool {
        exists(file.lastIndex(of: "/").map { String(file[...$0]) } ?? ".")
    }

    /// Whether the store has another file by now, or a folder for it, which cannot be observed before it is there.
    func isOutdated(_ domain: Domain) -> Bool {
        domain.file != file || !hasFolder && file.map(Self.isFolderThere) ?? false
    }

    /// The store as it is now, with the changes up to it printed.
    func reopened(_ domain: Domain, _ location: PropertyListPath, _ printer: ChangePrinter) throws -> WatchedStore {
        let new = try WatchedStore(domain, location, printer)
        let none = PropertyList([:] as [String: PropertyList])
        let (old, present) = (try store.stored(at: location), try new.store.stored(at: location))
        for change in Difference.between(old ?? none, present ?? none, at: location) {
            printer.show(change.path, change.old, change.new)
        }
        watch.cancel()
        try store.close()
        return new
    }
}

/// Prints changes in the thread that pumps.
private final class ChangePrinter: @unchecked Sendable {
    enum Form { case text, json, commands }

    private let domain: Domain
    private let type: CodableType?
    private let form: Form
    private let most: Int?
    private var printed = 0

    var isOver: Bool { most.map { printed >= $0 } ?? false }

    init(domain: Domain, type: CodableType?, form: Form, most: Int?) {
        (self.domain, self.type, self.form, self.most) = (domain, type, form, most)
    }

    func show(_ path: PropertyListPath, _ old: PropertyList?, _ new: PropertyList?) {
        guard !isOver else { return }
        printed += 1
        print(line(path, old, new))
        StandardOutput.flush()
    }

    private func line(_ location: PropertyListPath, _ oldValue: PropertyList?, _ newValue: PropertyList?) -> String {
        let old = oldValue.map { Values.masked($0, type, at: location) }
        let new = newValue.map { Values.masked($0, type, at: location) }
        switch form {
        case .commands:
            // A command would set secrets to the words for them, or remove them.
            if old != oldValue || new != newValue { return comment(location) }
            return Values.command(domain, location, new)
        case .json:
            var entry: [String: PropertyList] = ["path": PropertyList(location.text)]
            (entry["old"], entry["new"]) = (old, new)
            return Values.line(PropertyList(entry))
        case .text:
            let path = Terminal.bold(location.text)
            guard let new else { return "\(path) removed, was \(old.map(Values.line) ?? "absent")" }
            return "\(path) = \(Values.line(new))"
                + Terminal.dim(old.map { ", was \(Values.line($0))" } ?? ", was absent")
        }
    }

    private func comment(_ location: PropertyListPath) -> String {
        let isSecret = type.map { Values.isSecret(location, of: $0) } ?? false
        return "# \(domain.text): \(location.text) \(isSecret ? "is a secret" : "holds secrets"), and was changed"
    }
}
