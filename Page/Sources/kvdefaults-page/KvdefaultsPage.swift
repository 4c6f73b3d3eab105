import Dispatch
import DomainAccess
import Glibc
import KVCodable

/// The settings page of a domain, served to this machine: the program that `kvdefaults page` becomes.
@main
struct KvdefaultsPage {
    static func main() async {
        do {
            try await run()
        } catch let failure as Failure {
            failure.report()
            exit(failure.status)
        } catch {
            writeError("kvdefaults: \(words(of: error))")
            exit(2)
        }
    }

    private static func run() async throws {
        var words = CommandLine.arguments.dropFirst()
        let name = words.popFirst()
        guard let name, words.allSatisfy({ $0 == "--read-only" }) else {
            throw Failure("Expected kvdefaults page DOMAIN [--read-only]", of: "page")
        }
        let terminal = Terminal()
        let session = try Session(Domain(name), isReadOnly: !words.isEmpty)
        let server = try PageServer(session)
        async let end: Void = server.run()
        print(try server.address())
        fflush(nil)
        if isatty(STDERR_FILENO) == 1 {
            writeError("Open it in a browser on this machine; it works once. Control-C ends the page.")
        }
        terminal.endWithIt()
        try await end
    }
}
