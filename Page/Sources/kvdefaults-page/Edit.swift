import DomainAccess
import KVCodable

/// One change that a person made on the page: an operation at a path, with the revision that it was based on.
///
/// An edit is a function from the settings that its page saw to the settings that the person wants. The session merges
/// both with the settings as they are now.
struct Edit {
    enum Operation: String {
        /// Gives the setting a value.
        case set
        /// Takes the value away that the user has set.
        case reset
        /// Puts an element in a list, where the path leads.
        case insert
        /// Moves an element of a list to another index.
        case move
        /// Takes an element out of a list, or an entry out of a dictionary.
        case remove
        /// Gives an entry of a dictionary another key.
        case rename
    }

    let operation: Operation
    let path: PropertyListPath
    /// The new value, of `set` and `insert`, in the form that JSON has of it. A fault in it is found where the
    /// type is known, whose secrets are not told.
    private let form: PropertyList?
    /// The new index of `move`, or key of `rename`.
    let target: PropertyListPath.Step?
    /// The revision of the setting that the person saw.
    let base: Int64
    /// The page that sends it, by a name of its own.
    let page: String

    /// As deep as a store's values are.
    private static let mostSteps = PropertyListLimits().depth

    init(_ body: PropertyList) throws {
        guard let operation = body["operation"]?.string.flatMap(Operation.init) else {
            throw Failure("Expected an operation")
        }
        guard let steps = body["path"], steps.kind == .array else { throw Failure("Expected a path") }
        let path = steps.elements.compactMap(Self.step)
        guard path.count == steps.count, path.count <= Self.mostSteps, case .key? = path.first else {
            throw Failure("Expected at most \(Self.mostSteps) keys and indexes as the path, the first one a key")
        }
        guard let base = body["base"]?.integer, let page = body["page"]?.string else {
            throw Failure("Expected base and page")
        }
        self.operation = operation
        self.path = PropertyListPath(path)
        self.base = base
        self.page = page
        form = body["value"]
        target = body["target"].flatMap(Self.step)
    }

    private static func step(_ value: PropertyList) -> PropertyListPath.Step? {
        value.string.map { .key($0) } ?? value.integer.flatMap { $0 < 0 ? nil : Int(exactly: $0) }.map { .index($0) }
    }

    // MARK: - Applying

    /// Whether lower layers are to show again. A list is one value: inside of it, a reset removes a value.
    var isReset: Bool { operation == .reset && !path.steps.contains(where: \.isIndex) }

    /// The settings with the edit made in them.
    ///
    /// - Parameter settings: a dictionary with the edit's setting, as it is stored.
    func applied(to settings: PropertyList, _ type: CodableType) throws -> PropertyList {
        let tree = try completed(settings, type)
        switch operation {
        case .set: return try tree.setting(try newValue(over: tree.value(at: path), type), at: path)
        case .reset: return try tree.removing(at: path) ?? tree
        case .insert:
            return try changingList(tree) { elements, index in
                guard let value = try form?.valueOfJSONForm(), index <= elements.count else { throw missing }
                let element = type.member(at: path)?.type
                elements.insert(try element.map { try Values.stored(value, as: $0, at: path) } ?? value, at: index)
            }
        case .move:
            return try changingList(tree) { elements, index in
                guard case .index(let new)? = target, elements.indices.contains(index), elements.indices.contains(new)
                else { throw missing }
                elements.insert(elements.remove(at: index), at: new)
            }
        case .remove:
            guard let result = try tree.removing(at: path) else { throw missing }
            return result
        case .rename: return try renamed(tree, type)
        }
    }

    private var missing: Failure { Failure("There is no such element at \(path.text)") }
    private var outer: PropertyListPath { PropertyListPath(path.steps.dropLast()) }

    /// The settings with the defaults of the lists that the path leads into, and of the dictionary whose entry goes: these
    /// are stored as a whole.
    private func completed(_ settings: PropertyList, _ type: CodableType) throws -> PropertyList {
        let isWhole = operation == .remove || operation == .rename
        return try path.steps.indices.dropFirst().reduce(settings) { tree, end in
            let container = PropertyListPath(Array(path.steps[..<end]))
            guard isWhole || path.steps[end].isIndex, tree.value(at: container) == nil,
                let value = type.member(at: container)?.storedDefault
            else { return tree }
            return try tree.setting(value, at: container)
        }
    }

    private func newValue(over old: PropertyList?, _ type: CodableType) throws -> PropertyList {
        guard let value = try form?.valueOfJSONForm(), !value.isNull else {
            throw Failure("Expected a value at \(path.text)")
        }
        guard let member = type.member(at: path) else { return value }
        // The page's words for secrets must not be written over them. Another case has none of them.
        if !member.words.isSecret, let old = old ?? member.storedDefault,
            !isOtherCase(value, than: old, member.type.wrapped),
            !Values.secrets(in: old, type, at: path).isEmpty
        {
            throw Failure("There are secrets in \(path.text): change the settings in it one by one")
        }
        return try Values.stored(value, as: member.type, at: path)
    }

    /// Whether both are cases with values of an enum, and not the same one.
    private func isOtherCase(_ new: PropertyList, than old: PropertyList, _ type: CodableType) -> Bool {
        guard !type.cases.isEmpty, new.count == 1, old.count == 1, let key = old.keys.first else { return false }
        return new[key] == nil && type.member(at: [.key(key)]) != nil
    }

    private func changingList(
        _ tree: PropertyList, _ change: (inout [PropertyList], Int) throws -> Void
    ) throws -> PropertyList {
        guard case .index(let index)? = path.steps.last else { throw missing }
        let list = tree.value(at: outer) ?? []
        guard list.kind == .array else { throw missing }
        var elements = Array(list.elements)
        try change(&elements, index)
        return try tree.setting(PropertyList(elements), at: outer)
    }

    /// Gives the entry of a dictionary inside of a setting another key. Not the field of a struct: what is a secret
    /// there would be none under another key.
    private func renamed(_ tree: PropertyList, _ type: CodableType) throws -> PropertyList {
        guard type.member(at: outer).map({ $0.type.members.isEmpty && $0.type.cases.isEmpty }) ?? true else {
            throw Failure("Expected an entry of a dictionary at \(path.text), found a field")
        }
        guard case .key? = path.steps.last, case .key(let key)? = target, !outer.isEmpty,
            let value = tree.value(at: path), let rest = try tree.removing(at: path)
        else { throw missing }
        let new = outer.appending(.key(key))
        guard tree.value(at: new) == nil else { throw Failure("There is a value at \(new.text) already") }
        return try rest.setting(value, at: new)
    }
}

extension PropertyListPath.Step {
    fileprivate var isIndex: Bool { if case .index = self { true } else { false } }
}
