internal import PropertyLists

/// Reads expressions of the type language: `[String: Window]?`, `Int(1...16384)`.
///
/// ```
/// expression := primary "?"*
/// primary    := "[" "String" ":" expression "]"
///             | "[" expression "]" limits?
///             | name limits?
/// limits     := "(" range ")"
/// range      := number "..." number | number "..<" number | number "..." | "..." number | "..<" number | number
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
        guard try isAtEnd() else { throw scanner.error("the end of the type") }
        return form
    }

    mutating func isAtEnd() throws(TypeError) -> Bool {
        try scanner.skipBlanks()
        return scanner.isAtEnd
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
        if let known = table.form(named: name), !isDeclaring || !table.isBeingDeclared(name) { return known }
        if stage == .expression { throw unknown(name, at: start) }
        unknownNames.append((name, start))
        return .reference(table.reference(to: name))
    }

    func unknown(_ name: String, at position: Int) -> TypeError {
        let names = table.allNames + ScalarType.Kind.allCases.map(\.rawValue)
        let meant = closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
        let words = ErrorWords(fault: "No type is named \(shown(name))", ending: meant)
        return TypeError(.unknownType, words, location: scanner.location(of: position))
    }

    /// The purpose of reading the text.
    enum Stage {
        /// An expression, whose names must be those of types.
        case expression
        /// An expression in a description or the like, whose names may be declared later.
        case part
        /// Declarations without their defaults, and with them.
        case types, defaults
    }

    var stage = Stage.expression

    /// Whether names of the text's own types become references, since the types are not finished yet.
    private var isDeclaring: Bool { stage == .types || stage == .defaults }

    /// The name of the root's type, where the text says it.
    var root: String?

    /// Names that no type had when they were met, and their positions.
    var unknownNames: [(name: String, position: Int)] = []

    /// The types declared so far, with their defaults.
    var finished: [String: CodableType.Form] = [:]

    /// The defaults that were met, and their positions.
    var defaults: [(slot: DefaultSlot, position: Int)] = []

    // MARK: - Limits

    private mutating func limited(_ kind: ScalarType.Kind) throws(TypeError) -> ScalarType {
        var scalar = ScalarType(kind: kind)
        switch kind {
        case .string, .data: scalar.length = try length()
        case _ where kind.mayBeLimited: scalar.range = try range(of: kind)
        default: break
        }
        return scalar
    }

    /// The limits of numbers; nil where none stand here.
    mutating func range(of kind: ScalarType.Kind) throws(TypeError) -> ScalarType.Range? {
        guard try scanner.skip("(") else { return nil }
        let range = try openRange(of: kind)
        try scanner.expect(")")
        return range
    }

    /// The limits of a length; nil where none stand here.
    mutating func length() throws(TypeError) -> TypeBounds<Int>? {
        guard try scanner.skip("(") else { return nil }
        let length = try openLength()
        try scanner.expect(")")
        return length
    }

    /// Numbers without the brackets around them.
    mutating func openRange(of kind: ScalarType.Kind) throws(TypeError) -> ScalarType.Range {
        if kind.bounds == nil {
            return .reals(try bounds({ (scanner) throws(TypeError) in try scanner.real() }, TypeBounds.init))
        }
        return .integers(try bounds({ (scanner) throws(TypeError) in try scanner.whole() }, TypeBounds.whole))
    }

    /// Lengths without the brackets around them.
    mutating func openLength() throws(TypeError) -> TypeBounds<Int> {
        try bounds({ (scanner) throws(TypeError) in try scanner.count() }, TypeBounds.whole)
    }

    /// `1...10`, `0..<1`, `1...`, `...10`, `..<1`, or one number, which stands for both ends.
    private mutating func bounds<Bound>(
        _ number: (inout TypeScanner) throws(TypeError) -> Bound,
        _ make: (_ low: Bound?, _ high: Bound?, _ isHalfOpen: Bool) -> TypeBounds<Bound>?
    ) throws(TypeError) -> TypeBounds<Bound> {
        let start = try scanner.start()
        let low = try scanner.isAtNumber() ? number(&scanner) : nil
        let isHalfOpen = try scanner.skip("..<")
        let isClosed = try scanner.skip("...")
        var high = low
        if isHalfOpen || isClosed {
            let isAtNumber = try scanner.isAtNumber()
            high = isHalfOpen || isAtNumber ? try number(&scanner) : nil
        } else if low == nil {
            throw scanner.error("a range such as 1...10")
        }
        guard let bounds = make(low, high, isHalfOpen) else {
            throw scanner.error("a range with a number in it", at: start)
        }
        return bounds
    }
}

extension ScalarType.Kind {
    /// Whether a declaration may limit the kind's numbers or lengths.
    var mayBeLimited: Bool {
        switch self {
        case .string, .data, .float, .double: true
        default: bounds != nil
        }
    }
}

extension CodableType.Form {
    var isOptional: Bool { if case .optional = self { true } else { false } }
}
