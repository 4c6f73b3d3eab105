public import FoundationEssentials
public import PropertyLists

/// An error of this room: a value that is not of its type, or a type's text or description that is wrong.
///
/// ```swift
/// do {
///     _ = try TypeRegistry().type("[Int]").decode(stored, at: ["sizes"])
/// } catch where error.code == .mismatch {
///     print(error.path == ["sizes"], error)  // true Expected Array<Any> at sizes, found Dictionary<String, Any>
/// }
/// ```
public struct TypeError: Error, Sendable, Hashable {
    /// The kind of fault: the first four and the last are about values, the others about types.
    ///
    /// ```swift
    /// do {
    ///     _ = try TypeRegistry().type("[Int]").decode(PropertyList(any: ["one"]))
    /// } catch let error as TypeError {
    ///     print(error.code == .mismatch, error)  // true Expected BinaryInteger at [0], found String
    /// }
    /// ```
    public enum Code: Sendable, Hashable {
        /// The value is of another kind.
        case mismatch
        /// A number that the type cannot hold exactly, or outside its range.
        case notRepresentable
        /// A struct's field is neither there nor optional, and has no default, or an array is too short for its type.
        /// The path is the struct's or the array's.
        case missingField
        /// A value has a field that its struct does not declare, or a case that its enum does not. The path is the
        /// struct's or the enum's.
        case unknownField
        /// A type's text is wrong; ``TypeError/location`` says where.
        case syntax
        /// A description of a type is wrong; the path is the description's.
        case description
        /// A name that no type has.
        case unknownType
        /// A name that already means another type.
        case redeclared
        /// The value in its other form, with the type's keys and the defaults that it fills in, is larger than
        /// ``CodableType/decode(_:at:)`` allows.
        case limitExceeded
    }

    private struct Contents: Sendable, Hashable {
        var code: Code
        /// The text in parts, without the path.
        var words: ErrorWords
        var path: PropertyListPath = []
        /// The text in the words of the type language, where these are more than a translation of Swift's.
        var plainWords: ErrorWords?
        /// The key or index that is not there, of a ``Code/missingField``.
        var missing: PropertyListPath.Step?
        var location: PropertyListError.Location?
        var file: String?
    }

    @Boxed private var contents: Contents

    package init(_ code: Code, _ words: ErrorWords, location: PropertyListError.Location? = nil) {
        contents = Contents(code: code, words: words, location: location)
    }

    /// The kind of fault, for a program to decide by.
    public var code: Code {
        get { contents.code }
        set { contents.code = newValue }
    }

    /// The path of the value at fault, below the path that the caller gave; empty for the value itself and for a type.
    public var path: PropertyListPath {
        get { contents.path }
        set { contents.path = newValue }
    }

    /// The position in a type's text.
    public var location: PropertyListError.Location? {
        get { contents.location }
        set { contents.location = newValue }
    }

    /// The file that the text is in; nil for none.
    public var file: String? {
        get { contents.file }
        set { contents.file = newValue }
    }

    /// What was expected, or the fault, without the path: `Expected String`.
    public var subject: String {
        // The text of a type has no bound; a text written for readers is shorter.
        get { shown(contents.words.subject, 1_000) }
        set { contents.words = ErrorWords(fault: newValue, ending: finding) }
    }

    /// What was found: `, found Bool`.
    public var finding: String {
        get { shown(contents.words.finding, 1_000) }
        set { contents.words = ErrorWords(fault: subject, ending: newValue) }
    }

    /// The same error with words for those who have no Swift types.
    package func plainly(_ words: ErrorWords) -> TypeError {
        var error = self
        error.contents.plainWords = words
        return error
    }

    func plainly(_ expected: String, found: String) -> TypeError { plainly(.expected(expected, found: found)) }

    /// The same error in the words of the type language and of property lists, for languages that have no Swift types:
    /// `Int` for `BinaryInteger`, `Array` for `Array<Any>`, `Dictionary` for `Dictionary<String, Any>`, `UID` for
    /// `PropertyListUID`; `Expected Int at window.width, found nothing` for a key that is not there.
    public var inTypeLanguage: TypeError {
        var error = self
        error.contents.words = contents.plainWords ?? contents.words.inTypeLanguage
        error.contents.plainWords = nil
        return error
    }

    /// The error of a type's text in which a value is wrong, such as a default: it says the value's path, too.
    func inText() -> TypeError {
        var plain = self
        plain.contents.words = contents.words.inTypeLanguage
        let text = ErrorWords(fault: plain.message(firstIndex: 0))
        return TypeError(.syntax, ErrorWords(fault: message(firstIndex: 0))).plainly(text)
    }

    /// Whether the type is wrong, rather than a value.
    public var isAboutType: Bool {
        switch code {
        case .mismatch, .notRepresentable, .missingField, .unknownField, .limitExceeded: false
        case .syntax, .description, .unknownType, .redeclared: true
        }
    }

    /// The whole message: `Expected String at window.tags[2], found Bool`.
    ///
    /// - Parameters:
    ///   - firstIndex: the index of an array's first element, for languages that count from 1.
    ///   - root: the name of the value itself.
    public func message(firstIndex: Int, root: String = "") -> String {
        let text: String
        if let missing = contents.missing, contents.plainWords != nil {
            // The words of the coders, which name the missing key's own path.
            let pathText = path.description(root: root, firstIndex: firstIndex)
            let step =
                switch missing {
                case .index(let index): "[\(index.addingReportingOverflow(firstIndex).partialValue)]"
                case .key: pathText.isEmpty ? finding : "." + finding
                }
            text = subject + " " + pathText + step
        } else {
            let whole = contents.missing.map { path.appending($0) } ?? path
            let pathText = whole.description(root: root, firstIndex: firstIndex)
            text = subject + (pathText.isEmpty ? "" : " at " + pathText) + finding
        }
        let fileText = file.map { " (\($0))" } ?? ""
        guard case .line(let line, let column) = location else { return text + fileText }
        return text + " (line \(line), column \(column))" + fileText
    }

    func placed(at step: PropertyListPath.Step) -> TypeError {
        var error = self
        error.path.steps.insert(step, at: 0)
        return error
    }

    package func placed(below path: PropertyListPath) -> TypeError {
        var error = self
        error.path.steps.insert(contentsOf: path.steps, at: 0)
        return error
    }
}

extension TypeError: CustomStringConvertible {
    public var description: String { message(firstIndex: 0) }
}

extension TypeError {
    static func mismatch(_ expected: String, _ value: PropertyList) -> TypeError {
        let found = value.isNil ? "nil" : value.kind.foundName
        return TypeError(.mismatch, .expected(expected, found: found))
    }

    /// The words of the coders for a number that does not fit.
    static func notRepresentable(_ number: PropertyList, by type: String) -> TypeError {
        let ending = ", cannot be exactly represented by \(type)"
        return TypeError(.notRepresentable, ErrorWords(fault: number.kind.foundName, ending: ending))
            .plainly(type, found: "\(number)")
    }

    /// - Parameter type: the field's; nil where it is not known.
    static func missingField(_ key: String, _ type: CodableType.Form? = nil) -> TypeError {
        TypeError(.missingField, ErrorWords(fault: "Dictionary does not contain key", ending: key)).missing(
            .key(key), type)
    }

    /// A name in a value that its struct does not declare.
    static func unknownField(_ given: String, of type: String, among names: [String]) -> TypeError {
        let meant = closest(to: given, among: names).map { "; did you mean \($0)?" } ?? ""
        return TypeError(.unknownField, ErrorWords(fault: type, ending: " has no field \(shown(given))\(meant)"))
    }

    /// A value that a type's keys and defaults make too large.
    static func tooLarge(_ type: CodableType.Form) -> TypeError {
        TypeError(
            .limitExceeded,
            "The keys and defaults of \(type) grow to more than \(TypeLimits.addedNodes) nodes or \(TypeLimits.addedBytes >> 20) MB"
        )
    }

    static func missingElement(_ index: Int) -> TypeError {
        TypeError(.missingField, ErrorWords(fault: "Array does not contain index", ending: "[\(index)]"))
            .missing(.index(index), nil)
    }

    private func missing(_ step: PropertyListPath.Step, _ type: CodableType.Form?) -> TypeError {
        var error = plainly(type.map { "\($0)" } ?? "a value", found: "nothing")
        error.contents.missing = step
        return error
    }
}

extension PropertyListKind {
    /// The name that the coders' messages give to a value of this kind.
    fileprivate var foundName: String {
        switch self {
        case .unsigned: "UInt64"
        case .uid: "PropertyListUID"
        case .array: "Array<Any>"
        case .dictionary: "Dictionary<String, Any>"
        default: description
        }
    }
}

extension TypeError: LocalizedError {
    /// The whole message, so that `localizedDescription` names the fault.
    public var errorDescription: String? { description }
}
