import ArgumentParser
import DomainAccess
import Glibc
import KVCodable

/// The words that the shell offers: domains, settings and cases, from published types and stored values. A fault offers
/// nothing.
enum Completion {
    @Sendable static func domains(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        offered(domains(unquoted(prefix)))
    }

    /// The words by which a file or a domain can be given.
    @Sendable static func sources(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        offered(domains(unquoted(prefix)) + files(unquoted(prefix)))
    }

    /// A domain, or a file of types.
    @Sendable static func types(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        let files = files(unquoted(prefix)).filter { $0.hasSuffix("/") || $0.hasSuffix(".kvtypes") }
        return offered(domains(unquoted(prefix)) + files)
    }

    @Sendable static func paths(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        guard let domain = given(words[...]).first.map({ Domain($0) }) else { return [] }
        return offered(paths(of: domain, unquoted(prefix)))
    }

    /// Behind a path its value, behind a value the next path.
    @Sendable static func assignments(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        let given = given(words.prefix(max(index, 0)))
        guard let domain = given.first.map({ Domain($0) }) else { return [] }
        guard given.count.isMultiple(of: 2), let path = given.last else {
            return offered(paths(of: domain, unquoted(prefix)))
        }
        return offered(values(of: domain, path).filter { $0.hasPrefix(unquoted(prefix)) })
    }

    private static let valued: Swift.Set = ["--type", "--types", "--format", "--count"]

    /// The arguments behind the verb, without options and the value of the one that has one.
    private static func given(_ words: ArraySlice<String>) -> [String] {
        var rest = words.dropFirst(2)
        var given: [String] = []
        while let word = rest.popFirst() {
            if word == "--" { return given + rest.map(unquoted) }
            if valued.contains(word) {
                rest = rest.dropFirst()
            } else if !word.hasPrefix("-") {
                given.append(unquoted(word))
            }
        }
        return given
    }

    private static func domains(_ prefix: String) -> [String] {
        ((try? Domain.all()) ?? []).filter { $0.hasPrefix(prefix) }
    }

    /// The files and folders that begin so; those with a point in front where one was given.
    private static func files(_ prefix: String) -> [String] {
        let folder = prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? ""
        let start = prefix.dropFirst(folder.count)
        guard let stream = opendir(folder.isEmpty ? "." : folder) else { return [] }
        defer { closedir(stream) }
        var files: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix(start), name != ".", name != "..", !name.hasPrefix(".") || start.hasPrefix(".") else {
                continue
            }
            var status = stat()
            let isFolder = stat(folder + name, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            files.append(folder + name + (isFolder ? "/" : ""))
        }
        return files.sorted()
    }

    private static func paths(of domain: Domain, _ prefix: String) -> [String] {
        // The path before the last dot is given; the settings in it come next.
        let dot = lastDot(in: prefix)
        let outer = dot.map { String(prefix[..<$0]) } ?? ""
        let start = dot.map { String(prefix[prefix.index(after: $0)...]) } ?? prefix
        let found = paths(of: domain, in: outer, start)
        // A key with dots, before it has its quotes.
        return found.isEmpty && dot != nil ? paths(of: domain, in: "", prefix) : found
    }

    /// The settings in one whose keys begin so, with or without the quotes of a path.
    private static func paths(of domain: Domain, in outer: String, _ start: String) -> [String] {
        guard let location = try? PropertyListPath(text: outer) else { return [] }
        var keys = (try? domain.type())?.member(at: location)?.type.members.map(\.key) ?? []
        if let value = try? domain.opened().value(at: location), value.kind == .dictionary { keys += value.keys }
        let bare = start.hasPrefix("\"") ? String(start.dropFirst()) : start
        let texts = Swift.Set(keys).filter { $0.hasPrefix(bare) }.map { location.appending(.key($0)).text }
        // After a quote only texts with one go on with the word.
        return texts.filter { !start.hasPrefix("\"") || $0.hasSuffix("\"") }.sorted()
    }

    /// The last dot that is not in quotes.
    private static func lastDot(in text: String) -> String.Index? {
        var isQuoted = false
        var found: String.Index?
        for index in text.indices {
            if text[index] == "\"" { isQuoted.toggle() }
            if text[index] == ".", !isQuoted { found = index }
        }
        return found
    }

    private static func values(of domain: Domain, _ path: String) -> [String] {
        guard let location = try? PropertyListPath(text: path),
            let type = (try? domain.type())?.member(at: location)?.type
        else { return [] }
        if type.wrapped.description == "Bool" { return ["true", "false"] }
        return type.cases.map { $0.rawValue.map { $0.string ?? Values.line($0) } ?? $0.name }
    }

    // MARK: - Words of a shell

    /// A word of the command line as the program would get it: quotes and backslashes are the shell's.
    private static func unquoted(_ word: String) -> String {
        var result = ""
        var quote: Character?
        var isEscaped = false
        for character in word {
            if isEscaped {
                result.append(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                quote = character
            } else {
                result.append(character)
            }
        }
        return result
    }

    /// The words as the shell takes them: bash reads its list of words as it reads a line. In the line every shell quotes
    /// what needs it.
    private static func offered(_ words: [String]) -> [String] {
        CompletionShell.requesting == .bash ? words.map(escaped) : words
    }

    private static func escaped(_ word: String) -> String {
        var result = ""
        for character in word {
            let isPlain = character.isLetter || character.isNumber || "._/:,+@-~[]".contains(character)
            result += isPlain ? "\(character)" : "\\\(character)"
        }
        return result
    }
}
