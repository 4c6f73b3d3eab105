import ArgumentParser
import DomainAccess
import KVCodable

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the domains, or the settings of one.",
        discussion: """
            On a terminal it is a table; else a line for each, with tabs between its cells: of a setting the path, the \
            value as JSON, the type, and the layer: managed (an administrator's, locked), user, administrator (an \
            administrator's defaults), global, or default. Of a dictionary that several layers make up each part has a \
            line of its own.
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
        let layers = Layers(store: store, type: type)
        let administrator = try store.dictionary(of: .administrator)
        return try store.keys().flatMap { key -> [Row] in
            guard let value = try layers.value(at: [.key(key)]) else { return [] }
            let parts = try layers.parts(of: Values.masked(value, type, at: [.key(key)]), at: [.key(key)])
            return parts.compactMap { part in
                let member = type?.member(at: part.path)
                let inner = PropertyListPath(Array(part.path.steps.dropFirst()))
                if changed, let value = value.value(at: inner),
                    isDefault(value, part, member, administrator.value(at: part.path))
                {
                    return nil
                }
                return Row(
                    key: part.path.text, value: part.value, type: member.map { "\($0.type)" }, layer: part.layer,
                    isSecret: member?.words.isSecret ?? false)
            }
        }
    }

    /// Whether a value is that which the store has without the user's and the managed file.
    private func isDefault(
        _ value: PropertyList, _ part: Layers.Part, _ member: CodableType.Member?, _ administrator: PropertyList?
    ) -> Bool {
        switch part.origin.layer {
        case .administrator, .registered, .schema: return true
        default: break
        }
        if let administrator { return value == administrator }
        guard let member, let standard = member.defaultValue else { return false }
        return (try? member.type.read(value)) == standard
    }
}
