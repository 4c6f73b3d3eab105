import ArgumentParser
import DomainAccess
import KVCodable

struct Describe: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says what settings mean: type, range, default, deprecation.",
        discussion:
            "By the type that is published for the domain. Exit status 1 where there is none, or no such setting.")

    @Argument(help: "A store's name, or the path of its file.") var domain: Domain
    @Argument(help: "The setting; all of them without one.", completion: .custom(Completion.paths)) var path = ""
    @Flag(help: "Print JSON.") var json = false

    func run() throws {
        let location = try DomainAccess.path(path, of: domain)
        guard let member = try domain.requiredType().member(at: location) else {
            throw Failure.absent("Its type has no \(path)", of: domain.text)
        }
        if json { return print(try JSONText.of(try tree(member))) }
        if !location.isEmpty || member.words.documentation != nil {
            show(path.isEmpty ? domain.text : path, member, indent: "")
        }
        for inner in member.type.members {
            show(location.appending(.key(inner.key)).text, inner, indent: location.isEmpty ? "" : "  ")
        }
    }

    private func show(_ title: String, _ member: CodableType.Member, indent: String) {
        print("\(indent)\(Terminal.bold(title))  \(member.type)")
        for line in lines(member) { print("\(indent)    \(line)") }
    }

    private func lines(_ member: CodableType.Member) -> [String] {
        var lines = (member.words.documentation ?? "").split(separator: "\n").map(String.init)
        if let value = member.shownDefault { lines.append("Default: \(Values.line(value))") }
        for one in member.type.cases {
            let value = one.rawValue.map(Values.line) ?? one.name
            let notes = [one.words.title, one.words.deprecation.map { "deprecated: \($0)" }].compactMap { $0 }
            lines.append("\(value)\(notes.isEmpty ? "" : "  \(Terminal.dim(notes.joined(separator: "; ")))")")
        }
        if let deprecation = member.words.deprecation { lines.append("Deprecated: \(deprecation)") }
        if member.words.isSecret { lines.append("A secret: it is not shown. A keyring is the better place for it.") }
        return lines
    }

    /// Recursion goes one level down: a struct may contain itself.
    private func tree(_ member: CodableType.Member, isOuter: Bool = true) throws -> PropertyList {
        var result: [String: PropertyList] = ["type": PropertyList("\(member.type)")]
        result["default"] = member.shownDefault
        result["documentation"] = member.words.documentation.map { PropertyList($0) }
        result["deprecated"] = member.words.deprecation.map { PropertyList($0) }
        if member.words.isSecret { result["secret"] = true }
        let cases = member.type.cases.map { $0.rawValue ?? PropertyList($0.name) }
        if !cases.isEmpty { result["cases"] = PropertyList(cases) }
        if isOuter, !member.type.members.isEmpty {
            let inner = try member.type.members.map { ($0.key, try tree($0, isOuter: false)) }
            result["settings"] = try PropertyList(entries: inner)
        }
        return PropertyList(result)
    }
}
