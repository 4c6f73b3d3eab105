package import ArgumentParser
package import DomainAccess

extension Domain: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }

    package static var defaultCompletionKind: CompletionKind { .custom(Completion.domains) }
}

/// The store that a verb is about.
struct StoreArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("A store's name, or the path of its file.", valueName: "domain")) var domain: Domain
}
