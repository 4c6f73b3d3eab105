// CodableTypes is types by name: the type language, declared types, registered Swift types, and the forms of values of
// each. It knows no file and no store.

public import PropertyLists
internal import Synchronization

/// Declared types by name.
///
/// Registries are objects, so that two parts of a program do not collide in a name. Declaring the same name with the
/// same meaning again is fine; with another meaning it is an error. Safe to use from several threads at once.
///
/// ```swift
/// let registry = TypeRegistry()
/// try registry.declare("struct Point { x: Double; y: Double }")
/// let points = try registry.type("[Point]?")
/// ```
public final class TypeRegistry: Sendable {
    let table: TypeTable

    /// The effect of declaring a name again with another meaning.
    ///
    /// ```swift
    /// let scripts = TypeRegistry(over: .default, redeclaration: .replaces)
    /// try scripts.declare("struct Point { x: Int }")
    /// try scripts.declare("struct Point { x: Int; y: Int }")  // an error in a registry that rejects it
    /// ```
    public enum Redeclaration: Sendable, Hashable {
        /// It is an error: two parts of a program would misunderstand each other.
        case rejected
        /// The new meaning replaces the old one, as where scripts are loaded again. Types that were given out stay as
        /// they are, but for names in them that refer to the registry.
        case replaces
    }

    /// A registry that knows the built-in types, and those that `outer` has at any time; its own types hide them. Types
    /// declared here are not seen there.
    public init(over outer: TypeRegistry? = nil, redeclaration: Redeclaration = .rejected) {
        table = TypeTable(over: outer?.table, redeclaration)
    }

    /// A number that changes when a name gets another meaning, in the outer registry too.
    package var generation: Int { table.generation }

    /// The registry of programs that need only one.
    public static let `default` = TypeRegistry()

    /// The type of an expression such as `[Window]?`.
    ///
    /// - Throws: ``TypeError`` with line and column of the fault in the text, or the name that no type has.
    public func type(_ expression: String) throws(TypeError) -> CodableType {
        var parser = TypeParser(expression, table)
        return CodableType(try parser.expression(), in: table)
    }

    /// Declares the structs and enums of a text; gives them in its order.
    ///
    /// ```
    /// struct Window { width: Int(1...16384); title: String? @key(window_title); theme: Theme = dark }
    /// enum Theme: String { light, dark }
    /// ```
    ///
    /// A declaration may name types that stand after it. Nothing is declared when there is an error.
    ///
    /// - Throws: ``TypeError`` with line and column of the fault in the text.
    @discardableResult
    public func declare(_ text: String) throws(TypeError) -> [CodableType] {
        let draft = TypeTable(over: table)
        var parser = TypeParser(text, draft)
        let forms = try parser.declarations()
        try table.adopt(draft)
        return forms.map { CodableType($0, in: table) }
    }

    /// Declares the structs and enums of a file's text, which errors name.
    ///
    /// - Throws: ``TypeError`` also for bytes that are not UTF-8.
    package func declare(_ bytes: [UInt8], file: String) throws(TypeError) -> [CodableType] {
        do throws(TypeError) {
            guard let text = String(validating: bytes, as: UTF8.self) else { throw Self.noText(bytes) }
            return try declare(text.hasPrefix("\u{FEFF}") ? String(text.dropFirst()) : text)
        } catch {
            var error = error
            error.file = file
            throw error
        }
    }

    /// The error of the first bytes that are not UTF-8, which decoding replaces.
    private static func noText(_ bytes: [UInt8]) -> TypeError {
        let before = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\u{FFFD}" }
        let line = before.split(separator: "\n", omittingEmptySubsequences: false)
        return TypeError(
            .syntax, .expected("UTF-8", found: "other bytes"),
            location: .line(line.count, column: (line.last?.count ?? 0) + 1))
    }

    /// Declares the structs and enums of a text that names its root, such as a published one; gives the root's type.
    ///
    /// ```
    /// root Settings
    /// struct Settings { volume: Int(0...10) = 7 }
    /// ```
    ///
    /// - Throws: ``TypeError`` as ``declare(_:)``, and for a text without a line that names the root.
    public func schema(_ text: String) throws(TypeError) -> CodableType {
        let draft = TypeTable(over: table)
        var parser = TypeParser(text, draft)
        _ = try parser.declarations()
        guard let root = parser.root else {
            throw TypeError(.syntax, "Expected a line that names the root, such as root Settings")
        }
        try table.adopt(draft)
        guard let form = table.form(named: root) else { throw TypeError(.unknownType, "No type is named \(root)") }
        return CodableType(form, in: table)
    }

    /// The type that a tree describes; structs and enums in it are declared. The notation is in the documentation of
    /// this module, under *Describing types by trees*.
    ///
    /// - Throws: ``TypeError`` with the path of the fault in the description.
    @discardableResult
    public func declare(description: PropertyList) throws(TypeError) -> CodableType {
        let draft = TypeTable(over: table)
        let form = try TypeDescription(draft).form(of: description, at: [])
        try table.adopt(draft)
        return CodableType(form, in: table)
    }
}

/// A name that refers to a type of a table.
///
/// The table keeps its types, and types keep the names in them: the reference to the table is therefore weak. A type
/// that a registry gave keeps the table itself.
final class TypeReference: Sendable {
    let name: String
    /// Guarded by ``Lock/shared``.
    private nonisolated(unsafe) weak var table: TypeTable?

    init(_ name: String, in table: TypeTable) {
        self.name = name
        self.table = table
    }

    /// Used by ``TypeTable/adopt(_:)``: names of a draft mean the table's types from then on.
    fileprivate func move(to table: TypeTable) {
        Lock.shared.withLock { self.table = table }
    }

    func resolved() throws(TypeError) -> CodableType.Form {
        let table = Lock.shared.withLock { self.table }
        guard let form = table?.form(named: name) else { throw TypeError(.unknownType, "No type is named \(name)") }
        return form
    }
}

/// The named types of a registry, or those of a text while it is read.
///
/// `@unchecked Sendable`: the mutable state is guarded by ``Lock/shared``. No type is released under the lock, since
/// that may run the code of a program.
final class TypeTable: @unchecked Sendable {
    private var forms: [String: CodableType.Form] = [:]
    private var references: [TypeReference] = []
    private var announced: Set<String> = []
    private let outer: TypeTable?
    private let redeclaration: TypeRegistry.Redeclaration
    private let changes = Atomic<Int>(0)

    /// A number that changes when a name gets another meaning.
    var generation: Int { changes.load(ordering: .acquiring) &+ (outer?.generation ?? 0) }

    /// A table, or a draft of one, that sees the types of `outer`.
    init(over outer: TypeTable?, _ redeclaration: TypeRegistry.Redeclaration = .rejected) {
        self.outer = outer
        self.redeclaration = redeclaration
    }

    func form(named name: String) -> CodableType.Form? {
        let (own, hides) = Lock.shared.withLock { (forms[name], announced.contains(name)) }
        return own ?? (hides ? nil : outer?.form(named: name))
    }

    /// Notes that a draft is about to declare the name, which from now on has no outer meaning in it.
    func announce(_ name: String) {
        Lock.shared.withLock { _ = announced.insert(name) }
    }

    /// Whether the name was announced and is not declared yet.
    func isAnnounced(_ name: String) -> Bool {
        Lock.shared.withLock { announced.contains(name) && forms[name] == nil }
    }

    /// The types that this table has declared, by name.
    var named: [String: CodableType.Form] { Lock.shared.withLock { forms } }

    /// The types that names have here, those of the outer table included.
    var allNamed: [String: CodableType.Form] { (outer?.allNamed ?? [:]).merging(named) { $1 } }

    /// The names of all types, sorted.
    var allNames: [String] { allNamed.keys.sorted() }

    /// A name that may be declared later.
    func reference(to name: String) -> TypeReference {
        let reference = TypeReference(name, in: self)
        Lock.shared.withLock { references.append(reference) }
        return reference
    }

    func declare(_ name: String, _ form: CodableType.Form) throws(TypeError) {
        // Whether a draft may change its table's types is decided when it is adopted.
        if redeclaration == .rejected, let known = Lock.shared.withLock({ forms[name] }), known != form {
            throw TypeError(.redeclared, "\(name) already means another type")
        }
        set(name, form)
    }

    /// Gives a name of a draft its final meaning.
    func settle(_ name: String, _ form: CodableType.Form) {
        set(name, form)
    }

    private func set(_ name: String, _ form: CodableType.Form) {
        _ = Lock.shared.withLock {
            changes.add(1, ordering: .releasing)
            return forms.updateValue(form, forKey: name)
        }
    }

    /// Whether the name is one of those that this draft declares.
    func isBeingDeclared(_ name: String) -> Bool { Lock.shared.withLock { announced.contains(name) } }

    /// Takes over the types that a draft declared, if every name in them is that of a type.
    fileprivate func adopt(_ draft: TypeTable) throws(TypeError) {
        let (all, references) = Lock.shared.withLock { (draft.forms, draft.references) }
        var forms = all
        for reference in references { _ = try reference.resolved() }
        try Containment.check(forms.sorted { $0.key < $1.key }.map(\.value))
        // All or nothing: a name that has another meaning keeps the others from being declared.
        // Of the known forms those of the draft's names alone: the table is not copied for each declaration.
        let known = Lock.shared.withLock { forms.keys.reduce(into: [:]) { $0[$1] = self.forms[$1] } }
        var comparison = FormComparison()
        var equal: [String] = []
        let changed = forms.keys.sorted().first { name in
            guard let old = known[name], let new = forms[name] else { return false }
            guard comparison.areEqual(old, new) else { return true }
            // The old one stays, unless the new one says more: values made by it are known to be the same at a glance.
            if !new.saysMore(than: old) { equal.append(name) }
            return false
        }
        if let changed, redeclaration == .rejected {
            throw TypeError(.redeclared, "\(changed) already means another type")
        }
        let hides = forms.keys.contains { known[$0] == nil && outer?.form(named: $0) != nil }
        for name in equal { forms[name] = nil }
        Lock.shared.withLock { [forms] in
            self.forms.merge(forms) { $1 }
            if changed != nil || hides { changes.add(1, ordering: .releasing) }
        }
        for reference in references { reference.move(to: self) }
    }
}
