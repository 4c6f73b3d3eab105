package import ArgumentParser
package import DomainAccess

extension Domain: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }

    package static var defaultCompletionKind: CompletionKind { .custom(Completion.domains) }
}

/// A server that has stores of many machines.
struct ServerOption: ParsableArguments {
    @Option(
        help: """
            The server of a fleet, by its service in pg_service.conf or libpq's connection text: a name is that of a \
            store there.
            """, completion: .custom(Completion.servers))
    var server: String?
}

/// A server, and the note on a change there.
struct ChangeOptions: ParsableArguments {
    @OptionGroup var fleet: ServerOption
    @Option(help: "What the server's history is to say of the change.") var note: String?

    func validate() throws {
        if note != nil, fleet.server == nil { throw ValidationError("Expected --server with --note, found none") }
    }
}

/// A store that is read.
struct StoreArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("A store's name, or the path of its file.", valueName: "domain")) var name: Domain
    @OptionGroup var fleet: ServerOption

    var domain: Domain { name.on(fleet.server) }

    func validate() throws { try check(name, fleet.server) }
}

/// A store that is changed.
struct ChangedStoreArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("A store's name, or the path of its file.", valueName: "domain")) var name: Domain
    @OptionGroup var change: ChangeOptions

    var domain: Domain { name.on(change.fleet.server, note: change.note) }

    func validate() throws { try check(name, change.fleet.server) }
}

private func check(_ name: Domain, _ server: String?) throws {
    guard server == nil || !name.isFile else {
        throw ValidationError("Expected the name of a store with --server, found the path \(name.text)")
    }
}
