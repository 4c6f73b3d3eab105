import Dispatch
import DomainAccess
import Glibc
import KVCodable

/// The settings page of a domain, served to this machine: what `kvdefaults page` becomes.
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
        let words = CommandLine.arguments.dropFirst()
        guard let name = words.first, words.dropFirst().allSatisfy({ $0 == "--read-only" }) else {
            throw Failure("Expected kvdefaults page DOMAIN [--read-only]", of: "page")
        }
        let terminal = Terminal()
        let session = try Session(Domain(name), isReadOnly: words.count > 1)
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
