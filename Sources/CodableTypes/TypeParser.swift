internal import PropertyLists

/// Reads expressions of the type language: `[String: Window]?`, `Int(1...16384)`.
///
/// ```
/// expression := primary "?"*
/// primary    := "[" "String" ":" expression "]"
///             | "[" expression "]" limits?
///             | name limits?
/// limits     := "(" number "..." number ")" | "(" number ")"
/// ```
struct TypeParser {
    var scanner: TypeScanner
    let table: TypeTable
    private var depth = 0

    /// How deeply expressions and literals may be nested.
    static let maximumDepth = 64

    init(_ text: String, _ table: TypeTable) {
        scanner = TypeScanner(text)
        self.table = table
    }

    /// The whole text as an expression.
    mutating func expression() throws(TypeError) -> CodableType.Form {
        let form = try type()
        try scanner.skipBlanks()
        guard scanner.isAtEnd else { throw scanner.error("the end of the type") }
        return form
    }

    mutating func type() throws(TypeError) -> CodableType.Form {
        try scanner.skipBlanks()
        guard depth < Self.maximumDepth else { throw scanner.error("at most \(Self.maximumDepth) levels of types") }
        depth += 1
        defer { depth -= 1 }
        var form = try scanner.skip("[") ? bracketed() : named()
        while try scanner.skip("?") { form = form.isOptional ? form : .optional(form) }
        return form
    }

    private mutating func bracketed() throws(TypeError) -> CodableType.Form {
        let start = try scanner.start()
        let element = try type()
        if try scanner.skip(":") {
            guard case .scalar(let key) = element, key == ScalarType(kind: .string) else {
                throw scanner.error("String as the type of keys", at: start)
            }
            let value = try type()
            try scanner.expect("]")
            return .dictionary(value)
        }
        try scanner.expect("]")
        return .array(element, length: try length())
    }

    private mutating func named() throws(TypeError) -> CodableType.Form {
        let start = try scanner.start()
        let name = try scanner.name("a type")
        if name == "Any" { return .any }
        if let kind = ScalarType.Kind(rawValue: name) { return .scalar(try limited(kind)) }
        if let known = table.form(named: name) { return known }
        guard allowsUnknownNames else {
            let names = table.allNames + ScalarType.Kind.allCases.map(\.rawValue)
            let meant = closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
            throw TypeError(.unknownType, "No type is named \(name)", meant, location: scanner.location(of: start))
        }
        return .reference(table.reference(to: name))
    }

    /// Whether a name may be declared later: in declarations.
    var allowsUnknownNames = false

    /// Whether a word that means no value is passed over: the case of an enum that is not declared yet.
    var skipsUnknownWords = false

    // MARK: - Limits

    private mutating func limited(_ kind: ScalarType.Kind) throws(TypeError) -> ScalarType {
        var scalar = ScalarType(kind: kind)
        switch kind {
        case .string, .data:
            scalar.length = try length()
        case .float, .double:
            guard let (low, high) = try limits() else { break }
            guard let low = Double(low), let high = Double(high), low <= high else { throw wrongRange() }
            scalar.range = .reals(low...high)
        case _ where kind.bounds != nil:
            guard let (low, high) = try limits() else { break }
            guard let low = Int64(low), let high = Int64(high), low <= high else { throw wrongRange() }
            scalar.range = .integers(low...high)
        default:
            break
        }
        return scalar
    }

    private mutating func length() throws(TypeError) -> ClosedRange<Int>? {
        guard let (low, high) = try limits() else { return nil }
        guard let low = Int(low), let high = Int(high), low >= 0, low <= high else { throw wrongRange() }
        return low...high
    }

    private mutating func limits() throws(TypeError) -> (String, String)? {
        guard try scanner.skip("(") else { return nil }
        let low = try scanner.number()
        let high = try scanner.skip("...") ? scanner.number() : low
        try scanner.expect(")")
        return (low, high)
    }

    private func wrongRange() -> TypeError {
        TypeError(
            .syntax, "Expected two numbers that the type holds, the lower first",
            location: scanner.location(of: scanner.position))
    }
}

extension CodableType.Form {
    var isOptional: Bool { if case .optional = self { true } else { false } }
}
