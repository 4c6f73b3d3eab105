import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

/// The command line. Every verb is a type of its own, in the file of its name.
@main
struct Kvdefaults: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kvdefaults",
        abstract: "Reads and changes the preferences of programs, also while they run.",
        discussion: """
            A DOMAIN is the name of a store, such as com.example.app, or the path of its file. A PATH leads to \
            a setting: ui.window.width, list[2], "com.example.key".x; elements are counted from 0. Types that programs \
            publish say what the settings mean; kvdefaults describe shows it.

            Exit status: 0 when it went well, 1 where there is no such value (diff: where there are differences), 2 for \
            anything else.
            """,
        version: libraryVersion,
        subcommands: [
            List.self, Get.self, Set.self, Unset.self, Reset.self, Describe.self, Watch.self, Edit.self, Lint.self,
            Convert.self, Print.self, Diff.self, Export.self, Import.self, Copy.self, Types.self, Page.self,
        ])

    /// Errors have one form, `kvdefaults: com.example.app: message`, and a status of ours.
    static func main() {
        StandardOutput.open()
        let status = status {
            if let command = Get.plain(CommandLine.arguments) {
                try command.run()
            } else {
                var command = try parseAsRoot()
                try command.run()
            }
        }
        // The text that was printed may be the half of it.
        Glibc.exit(max(status, self.status { try StandardOutput.check() }))
    }

    /// Runs `body` and tells its error; gives the program's status.
    private static func status(_ body: () throws -> Void) -> Int32 {
        do {
            try body()
        } catch let failure as Failure {
            StandardOutput.flush()
            failure.report()
            return failure.status
        } catch {
            let status = exitCode(for: error)
            let message = fullMessage(for: error)
            if status == .success {
                print(message)
                return 0
            }
            if error is ExitCode { return status.rawValue }
            StandardOutput.flush()
            writeError(
                isOfParser(error) ? message.replacingFirst("Error: ", by: "kvdefaults: ") : "kvdefaults: \(message)")
            return 2
        }
        return 0
    }

    private static func isOfParser(_ error: any Error) -> Bool { fullMessage(for: error).hasPrefix("Error: ") }
}

extension String {
    fileprivate func replacingFirst(_ old: String, by new: String) -> String {
        hasPrefix(old) ? new + dropFirst(old.count) : self
    }
}
