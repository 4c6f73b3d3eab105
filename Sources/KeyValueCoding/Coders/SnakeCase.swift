/// Conversion of property names between camel case and snake case.
///
/// The word splitter agrees with Foundation's coders: `myURLProperty` gives `my_url_property`, `URLPath` gives
/// `u_rl_path`. Leading and trailing underscores stay.
enum SnakeCase {
    /// The snake case form of a property name.
    static func encoded(_ name: String) -> String {
        let scalars = Array(name.unicodeScalars)
        guard scalars.count > 1 else { return name.lowercased() }
        return words(of: scalars)
            .map { range in
                var word = String.UnicodeScalarView()
                word.append(contentsOf: scalars[range])
                return String(word).lowercased()
            }
            .joined(separator: "_")
    }

    private static func words(of scalars: [Unicode.Scalar]) -> [Range<Int>] {
        var words: [Range<Int>] = []
        var start = 0
        var search = 1
        while let upper = scalars[search...].firstIndex(where: isUppercase) {
            words.append(start..<upper)
            guard let lower = scalars[upper...].firstIndex(where: isLowercase) else {
                start = upper
                break
            }
            // Of several capitals in a row, the last begins the next word.
            start = lower == upper + 1 ? upper : lower - 1
            if start > upper { words.append(upper..<start) }
            search = lower + 1
        }
        words.append(start..<scalars.count)
        return words
    }

    /// The property names that `name` may come from, the likeliest first: `foo_url` may be `fooUrl` or `fooURL`.
    static func candidates(for name: String) -> [String] {
        let core = name.drop { $0 == "_" }
        let prefix = name.dropLast(core.count)
        let suffix = core.reversed().prefix { $0 == "_" }.count
        let words = core.dropLast(suffix).split(separator: "_").map(String.init)
        guard let first = words.first else { return [name] }
        // Every word beyond the first may have been an acronym; eight of them are 256 forms, and more are not tried.
        let rest = Array(words.dropFirst())
        let forms = rest.count <= 8 ? 1 << rest.count : 1
        return (0..<forms).map { form in
            let tail = rest.enumerated().map { offset, word in
                form >> offset & 1 == 1 ? word.uppercased() : capitalized(word)
            }
            return prefix + first + tail.joined() + String(repeating: "_", count: suffix)
        }
    }

    private static func capitalized(_ word: String) -> String {
        word.prefix(1).uppercased() + word.dropFirst()
    }

    private static func isUppercase(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .titlecaseLetter: true
        default: false
        }
    }

    private static func isLowercase(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .lowercaseLetter
    }
}
