/// An error's text in parts: its first part and its second, between which a message has the path.
///
/// The errors of every room carry these parts, and make one text of them at the end.
package struct ErrorWords: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringInterpolation {
    private struct Parts: Sendable, Hashable {
        /// What was expected: `Dictionary`; nil where the words say a fault.
        var expected: String?
        /// The fault: `XML cannot hold a control character`; empty where the words say what was expected.
        var fault = ""
        /// What was found instead: `String`.
        var found: String?
        /// The end of the second part, with its punctuation: `; a binary store can`, ` has no field left`.
        var ending = ""
    }

    @Boxed private var parts = Parts()

    /// `Expected Dictionary, found String; remove it first`.
    package static func expected(_ expected: String, found: String? = nil, advice: String? = nil) -> ErrorWords {
        var words = ErrorWords(fault: "", ending: advice.map { "; \($0)" } ?? "")
        (words.parts.expected, words.parts.found) = (expected, found)
        return words
    }

    /// `XML cannot hold a control character; a binary store can`.
    package static func wrong(_ fault: String, advice: String) -> ErrorWords {
        ErrorWords(fault: fault, ending: "; \(advice)")
    }

    /// A fault whose path stands at its end, or before `ending`: ` has no field left`.
    package init(fault: String, ending: String = "") {
        (parts.fault, parts.ending) = (fault, ending)
    }

    package init(stringLiteral fault: String) { self.init(fault: fault) }

    /// The part before the path: `Expected Dictionary`.
    package var subject: String { parts.expected.map { "Expected \($0)" } ?? parts.fault }

    /// The part behind the path: `, found String; remove it first`; empty without one.
    package var finding: String { (parts.found.map { ", found \($0)" } ?? "") + parts.ending }

    package var description: String { subject + finding }

    /// Whether both say the same at every path.
    package static func == (left: ErrorWords, right: ErrorWords) -> Bool {
        left.subject == right.subject && left.finding == right.finding
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(subject)
        hasher.combine(finding)
    }

    /// The same words behind a text.
    package func prefixed(_ text: String) -> ErrorWords { ErrorWords(fault: text + subject, ending: finding) }

    /// The same words before a text.
    package func followed(by text: String) -> ErrorWords {
        var words = self
        words.parts.ending += text
        return words
    }

    /// The same words with other names for the types that were expected and found.
    package func renamingTypes(_ name: (String) -> String) -> ErrorWords {
        var words = self
        (words.parts.expected, words.parts.found) = (parts.expected.map(name), parts.found.map(name))
        return words
    }

    /// The text with the path in it: `Expected Dictionary at window.tags[2], found String`; the text alone for the
    /// empty path.
    package func message(at path: PropertyListPath, firstIndex: Int) -> String {
        path.isEmpty ? description : text(at: path.description(root: "", firstIndex: firstIndex))
    }

    /// The text with a location in it.
    package func text(at location: String) -> String { "\(subject) at \(location)\(finding)" }
}
