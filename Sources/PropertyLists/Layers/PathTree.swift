/// A set of paths of keys, as a tree: a node stands for a path, and its children for the paths that are one key longer.
package final class PathTree: Sendable {
    /// Whether the node's own path is in the set.
    package let isListed: Bool
    package let children: [String: PathTree]

    private init(isListed: Bool, children: [String: PathTree]) {
        self.isListed = isListed
        self.children = children
    }

    /// The set of the paths; nil if there are none.
    package static func of(_ paths: some Sequence<ArraySlice<String>>) -> PathTree? {
        var isListed = false
        var inner: [String: [ArraySlice<String>]] = [:]
        for path in paths {
            guard let first = path.first else {
                isListed = true
                continue
            }
            inner[first, default: []].append(path.dropFirst())
        }
        if inner.isEmpty, !isListed { return nil }
        // Recursion is bounded by the depth of a document, which each path is a part of.
        var children: [String: PathTree] = [:]
        for (key, rest) in inner { children[key] = of(rest) }
        return PathTree(isListed: isListed, children: children)
    }

    /// The node at the end of `steps`; nil if no path of the set goes on there.
    package func node(at steps: ArraySlice<PropertyListPath.Step>) -> PathTree? {
        var node = self
        for step in steps {
            guard case .key(let key) = step, let next = node.children[key] else { return nil }
            node = next
        }
        return node
    }

    /// Whether the set has the path of `steps`, or one that this lies below.
    package func covers(_ steps: ArraySlice<PropertyListPath.Step>) -> Bool {
        var node = self
        for step in steps {
            if node.isListed { return true }
            guard case .key(let key) = step, let next = node.children[key] else { return false }
            node = next
        }
        return node.isListed
    }

    /// The paths of the set, behind `path`.
    package func paths(below path: PropertyListPath = []) -> [PropertyListPath] {
        var result = isListed ? [path] : []
        for (key, child) in children { result += child.paths(below: path.appending(.key(key))) }
        return result
    }
}
