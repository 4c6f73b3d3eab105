import DomainAccess
import KVCodable

/// What the shell offers: domains, settings and cases, from what is published and stored. A fault offers nothing.
enum Completion {
    @Sendable static func domains(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        let names = (try? Domain.all()) ?? []
        return names.filter { $0.hasPrefix(unquoted(prefix)) }
    }

    @Sendable static func paths(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        guard let domain = domain(in: words) else { return [] }
        return paths(of: domain, prefix)
    }

    /// Behind a path its value, behind a value the next path.
    @Sendable static func assignments(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        let given = words.prefix(max(index, 0)).dropFirst(2).filter { !$0.hasPrefix("--") }
        guard let domain = given.first.map({ Domain(unquoted($0)) }) else { return [] }
        guard given.count.isMultiple(of: 2), let path = given.last else { return paths(of: domain, prefix) }
        return values(of: domain, unquoted(path)).filter { $0.hasPrefix(unquoted(prefix)) }
    }

    /// The first argument behind the verb.
    private static func domain(in words: [String]) -> Domain? {
        words.dropFirst(2).first { !$0.hasPrefix("-") }.map { Domain(unquoted($0)) }
    }

    private static func paths(of domain: Domain, _ prefix: String) -> [String] {
        let prefix = unquoted(prefix)
        // What is before the last dot is given; the settings in it come next.
        let outer = prefix.lastIndex(of: ".").map { String(prefix[..<$0]) } ?? ""
        guard let place = try? PropertyListPath(text: outer) else { return [] }
        var keys = (try? domain.type())?.member(at: place)?.type.members.map(\.key) ?? []
        if let value = try? domain.opened().value(at: place), value.kind == .dictionary { keys += value.keys }
        return Swift.Set(keys).map { place.appending(.key($0)).text }.filter { $0.hasPrefix(prefix) }.sorted()
    }

    private static func values(of domain: Domain, _ path: String) -> [String] {
        guard let place = try? PropertyListPath(text: path), let type = (try? domain.type())?.member(at: place)?.type
        else { return [] }
        if type.wrapped.description == "Bool" { return ["true", "false"] }
        return type.cases.map { $0.rawValue.map { $0.string ?? Values.line($0) } ?? $0.name }
    }

    /// The shell gives words as they are written.
    private static func unquoted(_ word: String) -> String {
        guard let mark = word.first, mark == "\"" || mark == "'" else { return word.filter { $0 != "\\" } }
        return String(word.dropFirst().dropLast(word.count > 1 && word.last == mark ? 1 : 0))
    }
}
