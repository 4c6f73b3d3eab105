import PropertyLists
import Testing

@Suite struct PropertyListPathTests {
    static let shown: [(PropertyListPath, String)] = [
        ([], ""), (["window", "tags", 2], "window.tags[2]"), ([0, "a b.c"], "[0].a b.c"),
        (PropertyListPath(Array(repeating: .index(0), count: 24)), String(repeating: "[0]", count: 24)),
        (
            PropertyListPath((0..<512).map { $0 == 511 ? .key("last") : .index($0) }),
            (0..<12).map { "[\($0)]" }.joined() + " … 488 steps … " + (500..<511).map { "[\($0)]" }.joined() + ".last"
        ),
        ([.key(String(repeating: "é", count: 80))], String(repeating: "é", count: 80)),
        (
            [.key(String(repeating: "a", count: 50) + String(repeating: "b", count: 50)), 1],
            String(repeating: "a", count: 40) + "…" + String(repeating: "b", count: 40) + "[1]"
        ),
    ]

    @Test("shows a path whole, and a long one by its ends", arguments: shown)
    func shows(_ path: PropertyListPath, _ text: String) {
        #expect(path.description == text)
        #expect(path.description(root: "SELF").hasPrefix("SELF"))
    }

    @Test("tells keys apart by their bytes, as dictionaries do")
    func comparesBytes() {
        let (composed, decomposed): (PropertyListPath, PropertyListPath) = (["a", "\u{E9}"], ["a", "e\u{301}"])
        #expect(composed != decomposed && composed == ["a", "\u{E9}"])
        #expect(Set([composed, decomposed, ["a", "\u{E9}"]]).count == 2)
        #expect(PropertyListPath([.index(1)]) != PropertyListPath([.key("1")]))
    }

    @Test("keeps every step in the error, and counts indexes from where a language does")
    func keepsSteps() {
        let bytes = Array(String(repeating: "[", count: 600).utf8)
        let error = propertyListError { _ = try PropertyList(parsing: bytes, as: .json) }
        #expect(error?.path.steps.count == 512)
        let zeros = String(repeating: "[1]", count: 12)
        #expect(
            error?.message(firstIndex: 1)
                == "Deeper than 512 levels at \(zeros) … 488 steps … \(zeros) (line 1, column 513)")
    }
}
