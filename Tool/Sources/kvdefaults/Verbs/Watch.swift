import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

struct Watch: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints a line for each change, whoever makes it, until it is interrupted.")

    @Argument(help: "A store's name, or the path of its file.") var domain: Domain
    @Argument(help: "The setting and what is in it; all of them without one.", completion: .custom(Completion.paths))
    var path = ""
    @Flag(help: "Print the commands that make the same changes.") var commands = false
    @Flag(help: "Print JSON, an object on each line.") var json = false
    @Option(help: "End after so many changes.") var count: Int?

    func run() throws {
        let place = try DomainAccess.path(path, of: domain)
        let type = try domain.type()
        try about(domain.text) {
            let store = try domain.opened()
            let printer = ChangePrinter(
                domain: domain, type: type, form: json ? .json : commands ? .commands : .text, most: count)
            let watch = try store.watch(.subtree(place)) { printer.show($0) }
            var entry = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
            while !printer.isOver {
                // A file that was not there when the watch began is looked for again.
                poll(&entry, 1, 500)
                try pump(store)
            }
            watch.cancel()
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

    func show(_ change: DefaultsChange) {
        guard !isOver else { return }
        printed += 1
        print(line(change))
        fflush(nil)
    }

    private func line(_ change: DefaultsChange) -> String {
        let old = change.old.flatMap { try? Values.masked($0, type, at: change.path) }
        let new = change.new.flatMap { try? Values.masked($0, type, at: change.path) }
        switch form {
        case .commands:
            let isSecret = type?.member(at: change.path)?.words.isSecret ?? false
            let command = Values.command(domain, change.path, new)
            return isSecret ? "# \(domain.text): \(change.path.text) is a secret, and was changed" : command
        case .json:
            var entry: [String: PropertyList] = ["path": PropertyList(change.path.text)]
            (entry["old"], entry["new"]) = (old, new)
            return Values.line(PropertyList(entry))
        case .text:
            let path = Terminal.bold(change.path.text)
            guard let new else { return "\(path) removed, was \(old.map(Values.line) ?? "absent")" }
            return "\(path) = \(Values.line(new))"
                + Terminal.dim(old.map { ", was \(Values.line($0))" } ?? ", was absent")
        }
    }
}
