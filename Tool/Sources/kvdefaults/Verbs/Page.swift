import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

struct Page: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the settings of a domain as a page in a browser.",
        discussion: """
            It prints the address of the page, which the first browser that opens it keeps, and serves it to this \
            machine alone until it is interrupted or its terminal is closed. Exit status 1 if no type is published. The \
            page is a program of its own, kvdefaults-page, with a package of that name.
            """)

    @OptionGroup var store: StoreArguments
    @Flag(help: "Show the settings, and change none.") var readOnly = false

    /// Replaces this program with kvdefaults-page. The page is another program because it needs the whole of Foundation,
    /// and machines without browsers need not install it.
    func run() throws {
        let folder = try Self.folder()
        let folders = [folder, Self.parent(of: folder) + "/libexec"]
        let words = [store.domain.text] + (readOnly ? ["--read-only"] : [])
        for folder in folders {
            Self.become("\(folder)/kvdefaults-page", words)
            guard errno == ENOENT else {
                throw Failure(String(cString: strerror(errno)), of: "\(folder)/kvdefaults-page")
            }
        }
        throw Failure(
            "There is no program kvdefaults-page in \(folders.joined(separator: " or ")); "
                + "install the package kvdefaults-page, or make page and make install-page")
    }

    /// The folder of this program.
    private static func folder() throws -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { throw Failure(String(cString: strerror(errno)), of: "/proc/self/exe") }
        return parent(of: String(decoding: buffer[..<count], as: UTF8.self))
    }

    private static func parent(of path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    /// Returns only if the program cannot be started. `errno` has the reason.
    private static func become(_ program: String, _ words: [String]) {
        var arguments: [UnsafeMutablePointer<CChar>?] = (["kvdefaults-page"] + words).map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        execv(program, arguments)
    }
}
