import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

struct Page: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the settings of a domain as a page in a browser.",
        discussion: """
            It prints the address of the page, which the first browser that opens it keeps, and serves it to this \
            machine alone until it is interrupted or its terminal is closed. Exit status 1 where no type is published.
            """)

    @OptionGroup var store: StoreArguments
    @Flag(help: "Show the settings, and change none.") var readOnly = false

    /// The page has a program of its own, kvdefaults-page, which this one becomes: it needs the whole of Foundation.
    func run() throws {
        let folder = try Self.folder()
        let words = [store.domain.text] + (readOnly ? ["--read-only"] : [])
        for candidate in [folder, folder + "/../libexec"] {
            Self.become("\(candidate)/kvdefaults-page", words)
            guard errno == ENOENT else {
                throw Failure(String(cString: strerror(errno)), of: "\(candidate)/kvdefaults-page")
            }
        }
        throw Failure("There is no program kvdefaults-page beside it, or in \(folder)/../libexec", of: "kvdefaults")
    }

    /// The folder of this program.
    private static func folder() throws -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { throw Failure(String(cString: strerror(errno)), of: "/proc/self/exe") }
        let path = String(decoding: buffer[..<count], as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    /// Returns only where there is an error, which errno says.
    private static func become(_ program: String, _ words: [String]) {
        var arguments: [UnsafeMutablePointer<CChar>?] = (["kvdefaults-page"] + words).map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        execv(program, arguments)
    }
}
