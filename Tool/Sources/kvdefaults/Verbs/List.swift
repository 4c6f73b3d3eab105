import ArgumentParser
import DomainAccess
import KVCodable

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the domains, or the settings of one.",
        discussion: """
            On a terminal it is a table; else a line for each, with tabs between its cells: of a setting the key, the \
            value as JSON, the type, and the layer: user, managed (an administrator's), global, or default.
            """)

    @Argument(help: ArgumentHelp("A store's name, or the path of its file.", valueName: "domain")) var name: Domain?
    @Flag(help: "Only settings whose value is not the default.") var changed = false
    @Flag(help: "Print JSON.") var json = false

    func run() throws {
        guard let domain = name else { return try listDomains() }
        let type = try domain.type()
        guard domain.isThere(type) else { throw Failure.absent("There is no such store", of: domain.text) }
        let rows = try about(domain.text, type) { try self.rows(of: domain, type) }
        if json {
            let entries = rows.map { row in
                var entry: [String: PropertyList] = ["value": row.value, "layer": PropertyList(row.layer)]
                entry["type"] = row.type.map { PropertyList($0) }
                return (row.key, PropertyList(entry))
            }
            return print(try JSONText.of(PropertyList(entries: entries)))
        }
        Terminal.printTable(
            ["key", "value", "type", "layer"],
            rows.map { [$0.key, $0.isSecret ? Values.secret : Values.line($0.value), $0.type ?? "", $0.layer] })
    }

    private func listDomains() throws {
        let names = try Domain.all()
        if json { return print(try JSONText.of(PropertyList(names.map { PropertyList($0) }))) }
        for name in names { print(name) }
    }

    private struct Row {
        let key: String
        let value: PropertyList
        let type: String?
        let layer: String
        let isSecret: Bool
    }

    private func rows(of domain: Domain, _ type: CodableType?) throws -> [Row] {
        let store = try domain.opened(type)
        let layers = Layers(store: store)
        return try store.keys().compactMap { key in
            guard let found = try layers.find([.key(key)]) else { return nil }
            let member = type?.member(at: [.key(key)])
            if changed, found.layer == "default" || isDefault(found.value, member) { return nil }
            let shown = Values.masked(found.value, type, at: [.key(key)])
            return Row(
                key: key, value: shown, type: member.map { "\($0.type)" }, layer: found.layer,
                isSecret: member?.words.isSecret ?? false)
        }
    }

    private func isDefault(_ value: PropertyList, _ member: CodableType.Member?) -> Bool {
        guard let member, let standard = member.defaultValue else { return false }
        return (try? member.type.read(value)) == standard
    }
}
