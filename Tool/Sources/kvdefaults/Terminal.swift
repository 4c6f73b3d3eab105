import Glibc

/// The terminal's look: colours and tables are for people alone.
enum Terminal {
    /// Whether a person reads the output.
    static let isOutput = isatty(STDOUT_FILENO) == 1
    static let isError = isatty(STDERR_FILENO) == 1

    /// Colour is for a terminal that has it, where the person has not set `NO_COLOR` (no-color.org).
    private static let hasColor: Bool = {
        guard isOutput, getenv("NO_COLOR").map({ $0.pointee == 0 }) ?? true else { return false }
        return getenv("TERM").map { strcmp($0, "dumb") != 0 } ?? false
    }()

    static func bold(_ text: String) -> String { hasColor ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
    static func dim(_ text: String) -> String { hasColor ? "\u{1B}[2m\(text)\u{1B}[0m" : text }

    /// The columns of the terminal; 80 where it does not say.
    static var width: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// A table for a person, its last column cut to the terminal's width; for a program lines with tabs between cells.
    static func printTable(_ header: [String], _ rows: [[String]]) {
        guard isOutput else {
            for row in rows { print(row.joined(separator: "\t")) }
            return
        }
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        print(bold(line(header, widths)))
        for row in rows { print(line(row, widths)) }
    }

    private static func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (cell, width) in zip(cells, widths) {
            let most = max(Self.width / max(widths.count - 1, 1), 12)
            let shown = cell.count > most && width > most ? cell.prefix(most - 1) + "…" : cell[...]
            line += shown + String(repeating: " ", count: max(min(width, most) - shown.count, 0) + 2)
        }
        let end = line.lastIndex { $0 != " " }
        return String(line[..<(end.map { line.index(after: $0) } ?? line.startIndex)])
    }
}
