package import ArgumentParser
package import DomainAccess

extension Domain: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }

    package static var defaultCompletionKind: CompletionKind { .custom(Completion.domains) }
}
