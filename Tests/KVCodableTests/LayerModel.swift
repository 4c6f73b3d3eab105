import PropertyLists

/// What a store with layers holds and shows, by the rules of layers, written down a second time and simply: the
/// oracle of the law "get after set gives what was set". Paths are keys; an array is one value.
struct LayerModel {
    /// A refusal that the store must report.
    enum Refusal: Error { case forced([[String]]) }

    /// The model breaks its own law.
    struct Lawless: Error { let path: [String], old: PropertyList, new: PropertyList }

    /// What the rules do not settle, or what the scenarios test by themselves: the step is not taken.
    struct Unsettled: Error {}

    /// The managed file, the arguments, and the layers below the store's own with the uppermost first.
    var managed = LayerTree.empty
    var arguments = LayerTree.empty
    var lower: [LayerTree] = [] {
        didSet { allLower = lower.reversed().reduce(.empty) { merged($1, $0) } }
    }
    private var allLower = LayerTree.empty
    /// The store's own values and unset paths.
    var own = LayerTree.empty
    var unset: Set<[String]> = []
    /// Whether the store has the schema `Deck`.
    var isTyped = false

    // MARK: - Reading

    /// What all layers show.
    var value: LayerTree {
        let all = merged(managed, merged(arguments, changeable))
        return isTyped ? filled(all) : all
    }

    /// What the store and the layers below it show.
    var changeable: LayerTree { merged(own, visibleLower) }

    /// The merge of the layers below the store's own, without the unset paths.
    var visibleLower: LayerTree {
        unset.reduce(allLower) { $0.removing($1) }
    }

    func merged(_ upper: LayerTree, _ lower: LayerTree, at path: [String] = []) -> LayerTree {
        guard case .dictionary(var entries) = lower, case .dictionary(let others) = upper, !isEnum(path) else {
            return upper
        }
        for (key, value) in others {
            entries[key] = entries[key].map { merged(value, $0, at: path + [key]) } ?? value
        }
        return .dictionary(entries)
    }

    /// Adds the schema's defaults inside of structs.
    private func filled(_ tree: LayerTree) -> LayerTree {
        ["main", "other"].reduce(tree) { tree, key in
            guard case .dictionary(let part)? = tree[[key]], part["x"] == nil else { return tree }
            return tree.setting(.leaf(5), at: [key, "x"])
        }
    }

    func isEnum(_ path: [String]) -> Bool {
        guard isTyped, path.count == 2 else { return false }
        return path[0] == "shapes" || path[1] == "shape"
    }

    /// Whether a typed set resets what it leaves out there.
    private func isStruct(_ path: [String]) -> Bool { isTyped && (path == ["main"] || path == ["other"]) }

    // MARK: - Changing

    mutating func set(_ value: LayerTree, at path: [String]) throws {
        let before = self
        try store(value, at: path)
        try checkLaw(since: before, at: path, is: value)
    }

    /// Get after set gives what was set, and other paths are unchanged.
    private func checkLaw(since old: LayerModel, at path: [String], is new: LayerTree?) throws {
        // A struct that is new has fields with defaults.
        let place = isTyped ? Array(path.prefix(1)) : path
        let others = { (tree: LayerTree) in
            tree.leaves.filter { !$0.key.starts(with: place) && !place.starts(with: $0.key) }
        }
        guard others(value) == others(old.value) else {
            throw Lawless(path: path, old: old.value.list, new: value.list)
        }
        // Upper layers may show something else, and typed sets fill in defaults.
        if !isTyped, arguments == .empty, managed == .empty, value[path] != new {
            throw Lawless(path: path, old: old.value.list, new: value.list)
        }
    }

    private mutating func store(_ value: LayerTree, at path: [String]) throws {
        guard let stored = try unlocked(value, at: path) else { return }
        unset = unset.filter { !$0.starts(with: path) }
        own = own.setting(stored, at: path)
        unset.formUnion(leftOut(value, visibleLower[path], path).filter { !isLocked($0) })
    }

    /// The paths that lower layers have and a set value leaves out.
    private func leftOut(_ value: LayerTree, _ lower: LayerTree?, _ path: [String]) -> [[String]] {
        guard case .dictionary(let entries) = value, case .dictionary(let others)? = lower, !isEnum(path) else {
            return []
        }
        return others.flatMap { key, other -> [[String]] in
            if let given = entries[key] { return leftOut(given, other, path + [key]) }
            return isStruct(path) ? [] : [path + [key]]
        }
    }

    private func isLocked(_ path: [String]) -> Bool {
        (1...path.count).contains { count in
            let outer = Array(path[..<count])
            return managed[outer].map { $0.isLeaf || isEnum(outer) } ?? false
        }
    }

    mutating func remove(_ path: [String]) throws {
        guard path.count > 1 else { return try reset(path) }
        try checkUnlocked(path)
        own = own.removing(path)
        guard visibleLower[path] != nil else { return }
        unset = unset.filter { !$0.starts(with: path) }.union([path])
    }

    mutating func reset(_ path: [String]) throws {
        try checkUnlocked(path)
        guard own[path] != nil || unset.contains(where: { $0.starts(with: path) }) else { return }
        let hadValue = own[path] != nil
        own = own.removing(path)
        unset = unset.filter { !$0.starts(with: path) }
        guard hadValue else { return }
        var outer = Array(path.dropLast())
        while !outer.isEmpty, own[outer] == .empty, visibleLower[outer]?.isDictionary == true {
            own = own.removing(outer)
            outer.removeLast()
        }
    }

    /// Stores what differs between the value that is shown and a new one.
    mutating func update(_ path: [String], to new: LayerTree) throws {
        let old = value[path]
        var copy = self
        try copy.store(new, insteadOf: old, at: path)
        self = copy
    }

    private mutating func store(_ new: LayerTree, insteadOf old: LayerTree?, at path: [String]) throws {
        guard new != old else { return }
        guard case .dictionary(let entries) = new, case .dictionary(let others)? = old, !isEnum(path) else {
            return try set(new, at: path)
        }
        // What becomes of another kind of value below a dictionary of an upper layer is not settled.
        if changeable[path]?.isDictionary == false { throw Unsettled() }
        for key in others.keys where entries[key] == nil { try remove(path + [key]) }
        var refused: [[String]] = []
        for (key, value) in entries {
            do {
                try store(value, insteadOf: others[key], at: path + [key])
            } catch Refusal.forced(let paths) {
                refused += paths
            }
        }
        if !refused.isEmpty { throw Refusal.forced(refused) }
    }

    // MARK: - Locks

    /// The value without what the managed file has; nil if the value is locked as a whole.
    private func unlocked(_ value: LayerTree, at path: [String]) throws -> LayerTree? {
        for count in 0..<path.count where managed[Array(path[..<count])].map({ $0.isLeaf && count > 0 }) == true {
            throw Refusal.forced([Array(path[..<count])])
        }
        guard let locked = managed[path], !path.isEmpty || locked != .empty else { return value }
        var refused: [[String]] = []
        let rest = try Self.without(locked, value, path, &refused, isEnum)
        if !refused.isEmpty { throw Refusal.forced(refused) }
        return rest
    }

    private static func without(
        _ locked: LayerTree, _ value: LayerTree, _ path: [String], _ refused: inout [[String]],
        _ isEnum: ([String]) -> Bool
    ) throws -> LayerTree? {
        guard case .dictionary(let locks) = locked, !locks.isEmpty, !isEnum(path) else {
            if value != locked { refused.append(path) }
            return nil
        }
        guard case .dictionary(var entries) = value else {
            refused.append(path)
            return nil
        }
        for (key, lock) in locks {
            guard let entry = entries[key] else { throw Unsettled() }
            entries[key] = try without(lock, entry, path + [key], &refused, isEnum)
        }
        // Whether an empty dictionary is stored instead is not settled.
        if entries.isEmpty { throw Unsettled() }
        return .dictionary(entries)
    }

    /// Scenarios have the removals that meet locks.
    private func checkUnlocked(_ path: [String]) throws {
        for count in 1...path.count where managed[Array(path[..<count])]?.isLeaf == true { throw Unsettled() }
        if managed[path] != nil { throw Unsettled() }
    }

    /// The layer of a leaf, as scenarios name it.
    func origin(_ path: [String], names: [String]) -> String? {
        let upper = zip([managed, arguments, own], ["managed", "arguments", "application"])
        if let found = upper.first(where: { $0.0[path] != nil }) { return found.1 }
        return zip(lower, names).first { $0.0[path] != nil }?.1
    }
}

/// A value in which arrays are leaves.
enum LayerTree: Equatable {
    case leaf(PropertyList)
    case dictionary([String: LayerTree])

    static let empty = LayerTree.dictionary([:])

    init(_ list: PropertyList) {
        guard list.kind == .dictionary else {
            self = .leaf(list)
            return
        }
        self = .dictionary(Dictionary(list.entries.map { ($0.key, LayerTree($0.value)) }) { first, _ in first })
    }

    var list: PropertyList {
        switch self {
        case .leaf(let list): list
        case .dictionary(let entries): PropertyList(entries.mapValues(\.list))
        }
    }

    /// The leaves with their paths; an empty dictionary is one.
    var leaves: [[String]: LayerTree] {
        guard case .dictionary(let entries) = self, !entries.isEmpty else { return [[]: self] }
        return entries.reduce(into: [:]) { result, entry in
            for (path, leaf) in entry.value.leaves { result[[entry.key] + path] = leaf }
        }
    }

    var isDictionary: Bool { if case .dictionary = self { true } else { false } }

    /// Whether a managed file locks the value as a whole.
    var isLeaf: Bool { !isDictionary || self == .empty }

    subscript(path: [String]) -> LayerTree? {
        guard let key = path.first else { return self }
        guard case .dictionary(let entries) = self else { return nil }
        return entries[key]?[Array(path.dropFirst())]
    }

    func setting(_ value: LayerTree, at path: [String]) -> LayerTree {
        guard let key = path.first else { return value }
        guard case .dictionary(var entries) = self else { return self }
        entries[key] = (entries[key] ?? .empty).setting(value, at: Array(path.dropFirst()))
        return .dictionary(entries)
    }

    func removing(_ path: [String]) -> LayerTree {
        guard let key = path.first, case .dictionary(var entries) = self, let inner = entries[key] else { return self }
        entries[key] = path.count == 1 ? nil : inner.removing(Array(path.dropFirst()))
        return .dictionary(entries)
    }
}
