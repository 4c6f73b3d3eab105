import PropertyLists
import TestSupport

/// A random scenario of a store with layers: steps, and what the model says that they give.
struct RandomScenario {
    private var numbers: SeededGenerator
    private var model = LayerModel()
    private var layerNames: [String] = []
    private var steps: [PropertyList] = []
    private var entries: [String: PropertyList] = [:]
    private let engine: String

    static let length = 10

    init(seed: UInt64) {
        numbers = SeededGenerator(seed: seed)
        // Files take time; in memory nobody sees the unset paths.
        let choice = Int.random(in: 0..<8, using: &numbers)
        engine = choice < 3 ? ["xml", "json", "sqlite"][choice] : "memory"
        entries["name"] = PropertyList("random \(seed)")
        entries["engines"] = PropertyList([PropertyList(engine)])
        model.isTyped = number(3) == 0
        if model.isTyped { entries["schema"] = "Deck" }
        makeLayers(isMemory: engine == "memory")
    }

    /// The scenario, as a file of Tests/Scenarios has it.
    func scenario() throws -> PropertyList {
        var copy = self
        return try copy.finished()
    }

    private mutating func finished() throws -> PropertyList {
        while steps.count < Self.length * 2 { try takeStep() }
        entries["steps"] = PropertyList(steps)
        entries["stored"] = stored
        return PropertyList(entries)
    }

    /// What the file holds.
    private var stored: PropertyList {
        guard !model.unset.isEmpty else { return model.own.list }
        let paths = model.unset.map { PropertyList($0.map { PropertyList($0) }) }.sorted { notation($0) < notation($1) }
        return LayerTree(model.own.list).setting(.leaf(PropertyList(paths)), at: ["KVUnset"]).list
    }

    // MARK: - Random values

    private mutating func number(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }

    private mutating func key() -> String { ["a", "b", "c", "d"][number(4)] }

    private mutating func leaf() -> PropertyList {
        switch number(5) {
        case 0: PropertyList(["t", "u"][number(2)])
        case 1: PropertyList((0..<number(4)).map { PropertyList($0) })
        default: PropertyList(number(5))
        }
    }

    private mutating func tree(depth: Int) -> PropertyList {
        guard depth > 0, number(5) > 1 else { return leaf() }
        return dictionary(depth: depth)
    }

    private mutating func dictionary(depth: Int) -> PropertyList {
        var result: [String: PropertyList] = [:]
        for _ in 0...number(3) { result[key()] = tree(depth: depth - 1) }
        return PropertyList(result)
    }

    private mutating func shape() -> PropertyList {
        switch number(3) {
        case 0: ["circle": ["radius": PropertyList(Double(number(3)) + 0.5)]]
        case 1: ["square": ["_0": PropertyList(Double(number(3)) + 0.5)]]
        default: ["empty": [:]]
        }
    }

    private mutating func part() -> PropertyList {
        var result: [String: PropertyList] = [:]
        if number(2) == 0 { result["y"] = PropertyList(number(5)) }
        if number(3) == 0 { result["shape"] = shape() }
        if result.isEmpty || number(2) == 0 { result["x"] = PropertyList(number(5)) }
        return PropertyList(result)
    }

    private mutating func shapes() -> PropertyList {
        var result: [String: PropertyList] = [:]
        for _ in 0...number(2) { result[key()] = shape() }
        return PropertyList(result)
    }

    /// A value of the schema's field.
    private mutating func field(_ name: String) -> PropertyList {
        switch name {
        case "main", "other": part()
        case "shapes": shapes()
        case "sizes": PropertyList((0..<number(4)).map { PropertyList($0) })
        default: PropertyList(number(5))
        }
    }

    private static let fields = ["main", "other", "shapes", "sizes", "count"]

    private mutating func layer() -> PropertyList {
        guard model.isTyped else { return dictionary(depth: 3) }
        var result: [String: PropertyList] = [:]
        for name in Self.fields where number(2) == 0 { result[name] = field(name) }
        return PropertyList(result)
    }

    /// A path and a value that may be set there.
    private mutating func change() -> (path: [String], value: PropertyList) {
        guard model.isTyped else {
            let path = (0...number(3)).map { _ in key() }
            return (path, tree(depth: 4 - path.count))
        }
        let name = Self.fields[number(5)]
        switch (name, number(2)) {
        case ("shapes", 0): return ([name, key()], shape())
        case ("main", 0), ("other", 0):
            let inner = ["x", "y", "shape"][number(3)]
            return ([name, inner], inner == "shape" ? shape() : PropertyList(number(5)))
        default: return ([name], field(name))
        }
    }

    // MARK: - Layers

    private mutating func makeLayers(isMemory: Bool) {
        if number(3) == 0 { model.managed = LayerTree(lock()) }
        if number(3) == 0 { model.arguments = LayerTree(layer()) }
        if model.managed != .empty { entries["managed"] = model.managed.list }
        if model.arguments != .empty { entries["arguments"] = model.arguments.list }
        if !isMemory, number(2) == 0 {
            let suites = (0..<number(3)).map { _ in layer() }
            entries["suites"] = PropertyList(suites)
            for (index, suite) in suites.enumerated() { add(suite, "suite\(index)") }
            for name in ["administrator", "global"] where number(2) == 0 {
                entries[name] = layer()
                add(entries[name] ?? [:], name)
            }
        }
        let registered = layer()
        entries["registered"] = registered
        add(registered, "registered")
        if model.isTyped { add(["main": ["x": 5], "sizes": [1, 2], "count": 3], "schema") }
        // Locked values cannot be put into a store in memory.
        if engine == "memory", model.managed != .empty { return }
        model.own = LayerTree(layer())
        entries["start"] = stored
    }

    private mutating func add(_ list: PropertyList, _ name: String) {
        model.lower.append(LayerTree(list))
        layerNames.append(name)
    }

    /// A managed file with few locks.
    private mutating func lock() -> PropertyList {
        let (path, value) = change()
        return LayerTree.empty.setting(LayerTree(value), at: path).list
    }

    // MARK: - Steps

    private mutating func takeStep() throws {
        var taken: PropertyList?
        var copy = model
        do {
            taken = try randomStep(&copy)
            if taken != nil { model = copy }
        } catch LayerModel.Refusal.forced(let paths) {
            taken = pending.map { refused($0, at: paths) }
        } catch is LayerModel.Unsettled {
            taken = nil
        }
        pending = nil
        guard let taken else { return }
        steps.append(taken)
        expectOutcome()
    }

    /// The step that the model is asked about.
    private var pending: PropertyList?

    private func refused(_ step: PropertyList, at paths: [[String]]) -> PropertyList {
        var failure: [String: PropertyList] = ["code": "forced"]
        if paths.count == 1 { failure["path"] = PropertyList(paths[0].map { PropertyList($0) }) }
        return LayerTree(step).setting(.leaf(PropertyList(failure)), at: ["fails"]).list
    }

    private mutating func expectOutcome() {
        steps.append(["get": [], "is": model.value.list])
        if number(3) == 0 { steps.append(["file": stored]) }
        guard number(3) == 0, let path = leafPath(), !model.isTyped else { return }
        guard let name = model.origin(path, names: layerNames) else { return }
        var step: [String: PropertyList] = ["origin": list(path), "layer": PropertyList(name)]
        if name.hasPrefix("suite") {
            step["layer"] = "suite"
            step["suite"] = PropertyList(Int(name.dropFirst(5)) ?? 0)
        }
        steps.append(PropertyList(step))
    }

    /// The path of a random leaf of what is shown.
    private mutating func leafPath() -> [String]? {
        var (path, tree) = ([String](), model.value)
        while case .dictionary(let entries) = tree {
            let keys = entries.keys.sorted()
            guard !keys.isEmpty else { return nil }
            path.append(keys[number(keys.count)])
            tree = entries[path.last ?? ""] ?? .empty
        }
        return path
    }

    private func list(_ path: [String]) -> PropertyList { PropertyList(path.map { PropertyList($0) }) }

    private mutating func randomStep(_ model: inout LayerModel) throws -> PropertyList? {
        switch number(12) {
        case 0, 1, 2, 3: return try set(&model)
        case 4, 5: return try update(&model)
        case 6: return try remove(&model, "remove")
        case 7: return try remove(&model, "reset")
        case 8, 9: return try setElement(&model)
        case 10: return try transaction(&model)
        default:
            switch number(3) {
            case 0: return ["reopen": true]
            case 1: return try meanwhile(&model)
            default: return otherProcess(&model)
            }
        }
    }

    /// Whether a set there meets dictionaries alone on its way.
    private func isReachable(_ path: [String], _ model: LayerModel) -> Bool {
        (0..<path.count).allSatisfy { count in
            let outer = Array(path[..<count])
            return [model.value, model.changeable].allSatisfy { $0[outer]?.isDictionary != false }
                && !model.isEnum(outer)
        }
    }

    private mutating func set(_ model: inout LayerModel) throws -> PropertyList? {
        var (path, value) = change()
        if !model.isTyped, number(8) == 0 { (path, value) = ([], dictionary(depth: 3)) }
        guard isReachable(path, model) else { return nil }
        let replaces = !path.isEmpty && !model.isTyped && number(6) == 0
        var step: [String: PropertyList] = ["set": list(path), "to": value]
        if replaces { step["replace"] = true }
        pending = PropertyList(step)
        try model.set(LayerTree(value), at: path)
        return pending
    }

    private mutating func update(_ model: inout LayerModel) throws -> PropertyList? {
        let path = model.isTyped ? [["main", "other", "shapes"][number(3)]] : (0...number(2)).map { _ in key() }
        guard case .dictionary(var value)? = model.value[path], isReachable(path, model) else { return nil }
        var (with, without) = ([String: PropertyList](), [String]())
        for _ in 0...number(2) {
            let inner = model.isTyped && path != ["shapes"] ? ["x", "y", "shape"][number(3)] : key()
            let isRemoved = number(3) == 0 && inner != "x"
            let new =
                model.isTyped
                ? (path == ["shapes"] || inner == "shape" ? shape() : PropertyList(number(5))) : tree(depth: 2)
            if isRemoved, with[inner] == nil, value[inner] != nil, !without.contains(inner) { without.append(inner) }
            if !isRemoved, !without.contains(inner) { with[inner] = new }
        }
        for (key, new) in with { value[key] = LayerTree(new) }
        for key in without { value[key] = nil }
        var step: [String: PropertyList] = ["update": list(path)]
        if !with.isEmpty { step["with"] = PropertyList(with) }
        if !without.isEmpty { step["without"] = list(without) }
        guard step.count > 1 else { return nil }
        pending = PropertyList(step)
        try model.update(path, to: .dictionary(value))
        return pending
    }

    private mutating func remove(_ model: inout LayerModel, _ verb: String) throws -> PropertyList? {
        let (path, _) = change()
        // A required field that is removed has its own default, whatever is listed.
        guard isReachable(path, model), !(model.isTyped && path.last == "x") else { return nil }
        if verb == "remove" { try model.remove(path) } else { try model.reset(path) }
        return PropertyList([verb: list(path)])
    }

    private mutating func setElement(_ model: inout LayerModel) throws -> PropertyList? {
        guard let path = leafPath(), isReachable(path, model), case .leaf(let array)? = model.value[path],
            array.kind == .array, model.arguments[path] == nil
        else { return nil }
        var elements = array.elements.map { $0 }
        let index = number(elements.count + 1)
        let new = PropertyList(number(9))
        let step: PropertyList
        if index < elements.count, number(3) == 0 {
            if model.managed[path] != nil { return nil }
            elements.remove(at: index)
            step = PropertyList(["remove": PropertyList(list(path).elements.map { $0 } + [PropertyList(index)])])
        } else {
            if index < elements.count { elements[index] = new } else { elements.append(new) }
            step = PropertyList([
                "set": PropertyList(list(path).elements.map { $0 } + [PropertyList(index)]), "to": new,
            ])
        }
        pending = step
        try model.set(.leaf(PropertyList(elements)), at: path)
        return step
    }

    private mutating func transaction(_ model: inout LayerModel) throws -> PropertyList? {
        var copy = model
        var inner: [PropertyList] = []
        for _ in 0..<3 {
            var next = copy
            let step = number(2) == 0 ? try? set(&next) : try? update(&next)
            guard let step else { continue }
            copy = next
            inner += [step, ["get": [], "is": copy.value.list]]
        }
        pending = nil
        guard !inner.isEmpty else { return nil }
        if number(3) == 0 { return ["transaction": PropertyList(inner), "rolls back": true] }
        model = copy
        return ["transaction": PropertyList(inner)]
    }

    /// A change of ours beside a foreign program's, which writes the file as it was with a key of its own.
    private mutating func meanwhile(_ model: inout LayerModel) throws -> PropertyList? {
        guard engine == "xml" || engine == "json", !model.isTyped, model.own[["f"]] == nil else { return nil }
        let theirs = LayerTree.leaf(PropertyList(number(9)))
        let before = LayerTree(stored).setting(theirs, at: ["f"])
        steps.append(["sync": true])
        guard let ours = try? set(&model), ours["set"]?.count ?? 0 > 0 else {
            steps.removeLast()
            return nil
        }
        pending = nil
        model.own = model.own.setting(theirs, at: ["f"])
        steps += [ours, ["by": "foreign", "write": before.list]]
        return ["sync": true]
    }

    /// A change of ours beside one that another process makes elsewhere: it opens the file alone, without the layers.
    private mutating func otherProcess(_ model: inout LayerModel) -> PropertyList? {
        let (path, value) = change()
        let isRemoval = number(3) == 0
        let isPossible = isRemoval ? model.own[path] != nil && path.last != "x" : !value.kind.isContainer
        guard engine != "memory", isPossible, isReachable(path, in: model.own) else { return nil }
        steps.append(["sync": true])
        guard let ours = try? set(&model), let changed = ours["set"]?.elements.compactMap(\.string),
            !changed.starts(with: path), !path.starts(with: changed)
        else {
            steps.removeLast()
            return nil
        }
        pending = nil
        model.own = isRemoval ? model.own.removing(path) : model.own.setting(LayerTree(value), at: path)
        model.unset = model.unset.filter { !$0.starts(with: path) }
        let theirs: PropertyList =
            isRemoval ? ["by": "B", "remove": list(path)] : ["by": "B", "set": list(path), "to": value]
        steps += [ours, theirs]
        return ["sync": true]
    }

    /// Whether the store's own values have dictionaries alone on the way to a path.
    private func isReachable(_ path: [String], in own: LayerTree) -> Bool {
        path.indices.allSatisfy { own[Array(path[..<$0])]?.isDictionary != false }
    }
}
