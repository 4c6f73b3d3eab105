internal import PropertyLists

/// The way from the paths of changes, made to a value as it was, to the same elements in the value that another program
/// made of it.
///
/// An index means an element, not a number: the arrays on the way are matched (``ArrayMatching``), and the elements
/// that the changes themselves add, remove and replace are kept account of, while they are made again in their order. A
/// path of keys alone is its own image.
struct PathMapping {
    private let root: Node?

    init(from old: PropertyList?, to new: PropertyList?) {
        root = Node(old, new)
    }

    /// The operation as it is to be made now; nil where it has nothing to do, since the element that it removes is
    /// gone.
    ///
    /// - Throws: ``PropertyListError/Code/pathMismatch`` where the element cannot be told from others, or is gone, and
    ///   where the one to remove was replaced by another program: that may be a new one.
    func map(_ operation: PathOperation) throws(PropertyListError) -> PathOperation? {
        var steps: [PropertyListPath.Step] = []
        var node = root
        for (position, step) in operation.path.steps.enumerated() {
            guard let current = node else {
                steps += operation.path.steps[position...]
                break
            }
            let isLast = position + 1 == operation.path.steps.count
            switch step {
            case .key(let key):
                steps.append(step)
                node = isLast ? nil : current.child(key)
                if isLast { current.replaceChild(key) }
            case .index(let index):
                let found = current.element(index)
                let isRemoval = isLast && operation.value == nil
                switch found {
                case .at(let position): steps.append(.index(position))
                case .changed(let position) where !isRemoval: steps.append(.index(position))
                case .gone where isRemoval:
                    current.remove(index)
                    return nil
                case .gone, .unclear, .changed:
                    // The changes after it go by an array without the element.
                    if isRemoval { current.leave(index) }
                    throw Self.error(found, at: PropertyListPath(steps).appending(step))
                }
                node = isLast ? nil : current.child(index)
                if isLast { operation.value == nil ? current.remove(index) : current.replaceChild(index) }
            }
        }
        return PathOperation(path: PropertyListPath(steps), value: operation.value)
    }

    private static func error(_ found: Location, at path: PropertyListPath) -> PropertyListError {
        let words =
            switch found {
            case .gone: "none: another program removed it"
            case .changed: "another in its place: another program changed it"
            case .at, .unclear: "several: another program changed the array"
            }
        return PropertyListError(.pathMismatch, .expected("the element that was changed", found: words), at: path)
    }

    /// The location of an old element in the new array.
    enum Location: Equatable {
        case at(Int)
        /// The index of an element that replaced it: the same with a change, or a new one.
        case changed(Int)
        case gone
        case unclear
    }
}

extension PathMapping {
    /// A container on the way of a change: as it was, and as the other program wrote it. Only for a value that both
    /// have; one of the changes' own making has the same paths before and after.
    private final class Node {
        private let old: PropertyList
        private let new: PropertyList
        /// Of the values that were asked for, by their steps in the old container; nil for those that need no mapping.
        private var children: [PropertyListPath.Step: Node?] = [:]
        private lazy var array = ArrayState(old, new)

        /// Nil where paths are the same in both: for a value that only one has, and for the very same value.
        init?(_ old: PropertyList?, _ new: PropertyList?) {
            guard let old, let new, old.kind == new.kind, old.document !== new.document || old.index != new.index else {
                return nil
            }
            (self.old, self.new) = (old, new)
        }

        /// The value of a key; nil where it needs no mapping.
        func child(_ key: String) -> Node? {
            if let known = children[.key(key)] { return known }
            let child = Node(old[key], new[key])
            children[.key(key)] = .some(child)
            return child
        }

        /// The value of a key is the changes' own from now on.
        func replaceChild(_ key: String) { children[.key(key)] = .some(nil) }

        /// The location of the element that has the index in the array with the changes made so far.
        func element(_ index: Int) -> Location { old.kind == .array ? array.location(index) : .at(index) }

        func child(_ index: Int) -> Node? {
            guard old.kind == .array, let source = array.source(index) else { return nil }
            if let known = children[.index(source)] { return known }
            let child = array.target(source).flatMap { Node(element(old, source), element(new, $0)) }
            children[.index(source)] = .some(child)
            return child
        }

        func replaceChild(_ index: Int) {
            guard old.kind == .array else { return }
            if let source = array.source(index) {
                children[.index(source)] = .some(nil)
                array.replace(source)
            }
            array.append(index)
        }

        func remove(_ index: Int) {
            if old.kind == .array { array.remove(index) }
        }

        /// Notes an element that the changes have removed, and that stays.
        func leave(_ index: Int) { array.leave(index) }

        private func element(_ list: PropertyList, _ index: Int) -> PropertyList? {
            list.value(at: PropertyListPath([.index(index)]))
        }
    }

    /// The elements of an array in both versions, with the changes made so far: numbers from 0 for those of the old
    /// array, negative ones for those that the changes have appended.
    private struct ArrayState {
        private var before: [Int]
        private var after: [Int?]
        /// The location of each old element, without the changes.
        private var targets: [Location]
        private var appended = 0

        init(_ old: PropertyList, _ new: PropertyList) {
            let (known, elements) = (Array(old.elements), Array(new.elements))
            let matching = ArrayMatching(new: elements, known: known, keepsOrder: true)
            before = Array(known.indices)
            after = matching.sources
            targets = Self.targets(of: known.count, after)
            for (index, source) in after.enumerated() {
                if let source, known[source] != elements[index] { targets[source] = .changed(index) }
            }
            for (source, move) in matching.moves {
                guard case .to(let index) = move else {
                    targets[source] = .unclear
                    continue
                }
                targets[source] = .at(index)
                after[index] = source
            }
        }

        /// An old element without a new one is gone where its neighbours stand side by side now.
        private static func targets(of count: Int, _ sources: [Int?]) -> [Location] {
            var targets = [Location](repeating: .gone, count: count)
            var (nextOld, nextNew) = (0, 0)
            for (index, source) in (sources + [count]).enumerated() {
                guard let source else { continue }
                if index > nextNew { for old in nextOld..<source { targets[old] = .unclear } }
                if source < count { targets[source] = .at(index) }
                (nextOld, nextNew) = (source + 1, index + 1)
            }
            return targets
        }

        /// The number of the old element at an index; nil for one that the changes have appended.
        func source(_ index: Int) -> Int? { before.indices.contains(index) && before[index] >= 0 ? before[index] : nil }

        func target(_ source: Int) -> Int? {
            switch targets[source] {
            case .at(let index), .changed(let index): index
            case .gone, .unclear: nil
            }
        }

        /// Notes that the changes have set an old element.
        mutating func replace(_ source: Int) {
            if case .changed(let index) = targets[source] { targets[source] = .at(index) }
        }

        func location(_ index: Int) -> Location {
            if index == before.count { return .at(after.count) }
            guard before.indices.contains(index) else { return .at(index) }
            let element = before[index]
            if element >= 0 {
                guard let target = target(element) else { return targets[element] }
                // Removals alone move elements.
                if target < after.count, after[target] == element { return location(element, target) }
            }
            return after.firstIndex(of: element).map { location(element, $0) } ?? .gone
        }

        private func location(_ element: Int, _ index: Int) -> Location {
            if element >= 0, case .changed = targets[element] { return .changed(index) }
            return .at(index)
        }

        /// Notes an element that is set behind the last one.
        mutating func append(_ index: Int) {
            guard index == before.count else { return }
            appended -= 1
            before.append(appended)
            after.append(appended)
        }

        mutating func leave(_ index: Int) { before.remove(at: index) }

        mutating func remove(_ index: Int) {
            guard before.indices.contains(index) else { return }
            let element = before.remove(at: index)
            if let position = after.firstIndex(of: element) { after.remove(at: position) }
        }
    }
}
