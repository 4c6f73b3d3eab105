/// An error's text in parts: its first part and its second, between which a message has the path.
///
/// The errors of every room carry these parts, and make one text of them at the end.
package struct ErrorWords: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringInterpolation {
    /// What was expected: `Dictionary`; nil where the words say a fault.
    package var expected: String?
    /// The fault: `XML cannot hold a control character`; empty where the words say what was expected.
    private var fault = ""
    /// What was found instead: `String`.
    package var found: String?
    /// The end of the second part, with its punctuation: `; a binary store can`, ` has no field left`.
    package var ending = ""

    /// `Expected Dictionary, found String; remove it first`.
    package static func expected(_ expected: String, found: String? = nil, advice: String? = nil) -> ErrorWords {
        var words = ErrorWords(fault: "", ending: advice.map { "; \($0)" } ?? "")
        (words.expected, words.found) = (expected, found)
        return words
    }

    /// `XML cannot hold a control character; a binary store can`.
    package static func wrong(_ fault: String, advice: String) -> ErrorWords {
        ErrorWords(fault: fault, ending: "; \(advice)")
    }

    /// A fault whose path stands at its end, or before `ending`.
    package init(fault: String, ending: String = "") { (self.fault, self.ending) = (fault, ending) }

    package init(stringLiteral fault: String) { self.init(fault: fault) }

    /// The part before the path: `Expected Dictionary`.
    package var subject: String { expected.map { "Expected \($0)" } ?? fault }

    /// The part behind the path: `, found String; remove it first`; empty without one.
    package var finding: String { (found.map { ", found \($0)" } ?? "") + ending }

    package var description: String { subject + finding }

    /// Whether both say the same at every path.
    package static func == (left: ErrorWords, right: ErrorWords) -> Bool {
        left.subject == right.subject && left.finding == right.finding
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(subject)
        hasher.combine(finding)
    }

    /// The same words behind others.
    package func prefixed(_ text: String) -> ErrorWords {
        var words = ErrorWords(fault: text + subject, ending: ending)
        words.found = found
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
