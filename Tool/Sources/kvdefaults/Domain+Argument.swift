public import ArgumentParser
public import DomainAccess

extension Domain: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }

    public static var defaultCompletionKind: CompletionKind { .custom(Completion.domains) }
}

/// The store that a verb is about.
struct StoreArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("A store's name, or the path of its file.", valueName: "domain")) var domain: Domain
}
