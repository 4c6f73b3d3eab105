import ArgumentParser
import DomainAccess
import KVCodable

struct Fleet: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Looks after stores that many machines share, on a PostgreSQL server.",
        discussion: "With --server every other verb takes such a store, too.",
        subcommands: [Init.self, Log.self, Undo.self, Status.self])

    struct Init: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes the tables of a fleet in a database.",
            discussion: """
                Where they are there, their functions and rights are made anew, and no data is changed. Whoever makes \
                them owns them, and says who else may read and write: fleets.md of the documentation has how.
                """)

        @Argument(
            help: "The database, by its service in pg_service.conf or libpq's connection text.",
            completion: .custom(Completion.servers))
        var server: String

        func run() throws {
            try about("fleet") {
                let script = String(decoding: PackageResources.fleet_sql, as: UTF8.self)
                let areNew = try DefaultsFleet(server: connectionText(server)).makeTables(script)
                let version = DefaultsFleet.tablesVersion
                print(
                    areNew
                        ? "The tables are made, of version \(version)."
                        : "The tables of version \(version) were there: functions and rights are made anew, no data is changed."
                )
            }
        }
    }
}

/// A store on a server, where no file will do.
struct FleetStoreArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("The store's name.", valueName: "store")) var name: Domain
    @Option(
        help: "The server, by its service in pg_service.conf or libpq's connection text.",
        completion: .custom(Completion.servers))
    var server: String

    var domain: Domain { name.on(server) }

    func validate() throws {
        if name.isFile { throw ValidationError("Expected the name of a store, found the path \(name.text)") }
    }
}

extension Fleet {
    struct Log: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints who changed what, and when: the latest first.",
            discussion: """
                On a terminal it is a table; else a line for each key of a revision, with tabs between its cells: \
                revision, key, with --values the value as JSON or "removed", the server's role, the time, the note. \
                Exit status 1 where there is no such store.
                """)

        @OptionGroup var store: FleetStoreArguments
        @Flag(help: "Print the values, too, but for secrets.") var values = false
        @Flag(help: "Print JSON.") var json = false
        @Option(help: "Print the latest so many revisions.") var count: Int?

        func run() throws {
            let domain = store.domain
            let type = try domain.type()
            try about(domain.text, type) {
                let changes = try DefaultsFleet(server: connectionText(store.server)).history(
                    of: domain.text, latest: count)
                if changes.isEmpty, count != 0 { throw Failure.absent("There is no such store", of: domain.text) }
                if json { return print(try JSONText.of(PropertyList(changes.map { tree($0, type) }))) }
                Terminal.printTable(
                    ["revision", "key"] + (values ? ["value"] : []) + ["who", "when", "note"],
                    changes.map { cells($0, type) })
            }
        }

        private func shown(_ change: DefaultsFleet.Change, _ type: CodableType?) -> PropertyList? {
            change.value.map { Values.masked($0, type, at: [.key(change.key)]) }
        }

        private func cells(_ change: DefaultsFleet.Change, _ type: CodableType?) -> [String] {
            let path = PropertyListPath([.key(change.key)]).text
            let isSecret = type?.member(at: [.key(change.key)])?.words.isSecret ?? false
            let text = shown(change, type).map { isSecret ? Values.secret : Values.line($0) }
            let value = values ? [text ?? "removed"] : []
            return ["\(change.revision)", path] + value + [change.who, change.time, change.note.map(oneLine) ?? ""]
        }

        private func tree(_ change: DefaultsFleet.Change, _ type: CodableType?) -> PropertyList {
            var tree: [String: PropertyList] = [
                "revision": PropertyList(change.revision), "key": PropertyList(change.key),
                "who": PropertyList(change.who), "when": PropertyList(change.time),
            ]
            tree["note"] = change.note.map { PropertyList($0) }
            if change.value == nil { tree["removed"] = true }
            if values { tree["value"] = shown(change, type) }
            return PropertyList(tree)
        }
    }
}

/// The text in a cell of a table.
private func oneLine(_ text: String) -> String {
    String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
}

extension Fleet {
    struct Undo: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Undoes a revision, as a new one.",
            discussion: """
                What the revision changed is as it was before it, by path: later changes of other settings stay. Where \
                one of its settings was changed since, that is told, and nothing is undone. The published type must \
                accept what was before. Exit status 1 where the history has no such revision.
                """)

        @Argument(help: "The revision, as kvdefaults fleet log shows it.") var revision: Int64
        @OptionGroup var store: FleetStoreArguments
        @Flag(help: "Undo it also where its settings were changed since.") var force = false
        @Option(help: "What the history is to say of it.") var note: String?

        func run() throws {
            let domain = store.name.on(store.server, note: note ?? "undo of revision \(revision)")
            let type = try domain.type()
            try about(domain.text, type) {
                let changes = try DefaultsFleet(server: connectionText(store.server)).changes(
                    in: revision, of: domain.text)
                guard !changes.isEmpty else {
                    throw Failure.absent("There is no revision \(revision) in its history", of: domain.text)
                }
                let parts = changes.flatMap {
                    // Others may have put settings into a dictionary since it was made.
                    Difference.between($0.old, $0.value, at: [.key($0.key)], asSettings: true)
                }
                let target = try domain.openedForWriting(type)
                try target.transaction { try undo(parts, changes, in: $0, target, type) }
                try target.sync()
                try target.close()
            }
        }

        private func undo(
            _ parts: [Difference.Change], _ changes: [DefaultsFleet.Change], in transaction: DefaultsTransaction,
            _ target: DefaultsStore, _ type: CodableType?
        ) throws {
            let present = try target.dictionary(of: .application)
            let conflicts = parts.compactMap { part in
                // A value that is no dictionary now cannot hold the setting.
                if part.old != nil, let blocker = blocked(part.path, in: present) {
                    return Difference.Change(path: blocker, old: nil, new: nil)
                }
                let value = present.value(at: part.path)
                return value != part.new && value != part.old ? part : nil
            }
            guard force || conflicts.isEmpty else {
                for conflict in conflicts { tell(conflict, present.value(at: conflict.path), type) }
                throw Failure("Nothing is undone; --force does it all the same", of: store.name.text)
            }
            for part in parts where present.value(at: part.path) != part.old {
                guard let old = part.old else {
                    try transaction.remove(at: part.path)
                    try removeEmpty(part.path, changes, transaction, target)
                    continue
                }
                if let blocker = blocked(part.path, in: try target.dictionary(of: .application)) {
                    try transaction.remove(at: blocker)
                }
                try transaction.setStored(old, at: part.path)
            }
        }

        /// The path of a value on the way to a setting that is no dictionary; nil where there is none.
        private func blocked(_ path: PropertyListPath, in present: PropertyList) -> PropertyListPath? {
            path.steps.indices.dropFirst().map { PropertyListPath(Array(path.steps[..<$0])) }
                .first { outer in present.value(at: outer).map { $0.kind != .dictionary } ?? false }
        }

        /// Removes the dictionaries around a removed setting that are empty without it, and were not there before.
        private func removeEmpty(
            _ path: PropertyListPath, _ changes: [DefaultsFleet.Change], _ transaction: DefaultsTransaction,
            _ target: DefaultsStore
        ) throws {
            func wasThere(_ path: PropertyListPath) -> Bool {
                guard case .key(let key)? = path.steps.first else { return true }
                let change = changes.first { $0.key.utf8.elementsEqual(key.utf8) }
                return change?.old?.value(at: PropertyListPath(Array(path.steps.dropFirst()))) != nil
            }
            var path = PropertyListPath(Array(path.steps.dropLast()))
            while !path.steps.isEmpty, !wasThere(path),
                let found = try target.dictionary(of: .application).value(at: path), found.kind == .dictionary,
                found.keys.isEmpty
            {
                try transaction.remove(at: path)
                path = PropertyListPath(Array(path.steps.dropLast()))
            }
        }

        private func tell(_ conflict: Difference.Change, _ found: PropertyList?, _ type: CodableType?) {
            func shown(_ value: PropertyList?) -> String {
                guard let value else { return "none" }
                return Values.line(Values.masked(value, type, at: conflict.path))
            }
            writeError(
                "kvdefaults: \(store.name.text): Expected \(shown(conflict.new)) at \(conflict.path.text), "
                    + "as revision \(revision) left it, found \(shown(found))")
        }
    }
}

extension Fleet {
    struct Status: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints which revision of a store the machines run, and which one they refuse.",
            discussion: """
                As the machines tell it themselves, which the server lets them do under their own roles alone. On a \
                terminal it is a table; else a line for each program on a machine, with tabs between its cells: machine, \
                program, role, revision, "current", "behind" or "refuses" with the revision, path and reason, and the \
                time. Exit status 1 where a machine refuses a revision, or where none has told anything.
                """)

        @OptionGroup var store: FleetStoreArguments
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            let domain = store.domain
            let type = try domain.type()
            let machines = try about(domain.text, type) {
                let fleet = try DefaultsFleet(server: connectionText(store.server))
                let head = try fleet.revision(of: domain.text)
                let machines = try fleet.machines(of: domain.text)
                if machines.isEmpty { throw Failure.absent("No machine has told what it runs", of: domain.text) }
                show(machines, head, type)
                return machines
            }
            if machines.contains(where: { $0.refused != nil }) { throw Failure.differing }
        }

        private func show(_ machines: [DefaultsFleet.Machine], _ head: Int64, _ type: CodableType?) {
            if json {
                return print((try? JSONText.of(PropertyList(machines.map { tree($0, head, type) }))) ?? "")
            }
            Terminal.printTable(
                ["machine", "program", "role", "revision", "state", "when"],
                machines.map { machine in
                    let state = machine.revision < head ? "behind" : "current"
                    return [
                        machine.name, machine.program, machine.who, "\(machine.revision)",
                        refusal(machine, type) ?? state, machine.time,
                    ].map(oneLine)
                })
        }

        private func refusal(_ machine: DefaultsFleet.Machine, _ type: CodableType?) -> String? {
            guard let refused = machine.refused else { return nil }
            let words = [machine.path, message(machine, type)].compactMap(\.self).filter { !$0.isEmpty }
            return "refuses \(refused)" + words.map { ": \($0)" }.joined()
        }

        /// A reason may repeat the value.
        private func message(_ machine: DefaultsFleet.Machine, _ type: CodableType?) -> String? {
            let path = machine.path.flatMap { try? PropertyListPath(text: $0) }
            guard let type, let path, Values.isSecret(path, of: type) else { return machine.message }
            return Values.secret
        }

        private func tree(_ machine: DefaultsFleet.Machine, _ head: Int64, _ type: CodableType?) -> PropertyList {
            var tree: [String: PropertyList] = [
                "machine": PropertyList(machine.name), "program": PropertyList(machine.program),
                "role": PropertyList(machine.who), "revision": PropertyList(machine.revision),
                "head": PropertyList(head), "when": PropertyList(machine.time),
            ]
            tree["refused"] = machine.refused.map { PropertyList($0) }
            tree["path"] = machine.path.map { PropertyList($0) }
            tree["message"] = message(machine, type).map { PropertyList($0) }
            return PropertyList(tree)
        }
    }
}
