/// A set of paths of keys, as a tree: a node stands for a path, and its children for the paths that are one key longer.
package final class PathTree: Sendable {
    /// Whether the node's own path is in the set.
    package let isListed: Bool
    package let children: [PropertyListPath.Step: PathTree]

    private init(isListed: Bool, children: [PropertyListPath.Step: PathTree]) {
        self.isListed = isListed
        self.children = children
    }

    /// The set of the paths; nil if there are none. Recursion is as deep as the longest path.
    package static func of(_ paths: some Sequence<ArraySlice<PropertyListPath.Step>>) -> PathTree? {
        var isListed = false
        var inner: [PropertyListPath.Step: [ArraySlice<PropertyListPath.Step>]] = [:]
        for path in paths {
            guard let first = path.first else {
                isListed = true
                continue
            }
            inner[first, default: []].append(path.dropFirst())
        }
        if inner.isEmpty, !isListed { return nil }
        var children: [PropertyListPath.Step: PathTree] = [:]
        for (step, rest) in inner { children[step] = of(rest) }
        return PathTree(isListed: isListed, children: children)
    }

    /// The node at the end of `steps`; nil if no path of the set goes on there.
    package func node(at steps: ArraySlice<PropertyListPath.Step>) -> PathTree? {
        var node = self
        for step in steps {
            guard let next = node.children[step] else { return nil }
            node = next
        }
        return node
    }

    /// Whether the set has the path of `steps`, or one that this lies below.
    package func covers(_ steps: ArraySlice<PropertyListPath.Step>) -> Bool {
        var node = self
        for step in steps {
            if node.isListed { return true }
            guard let next = node.children[step] else { return false }
            node = next
        }
        return node.isListed
    }

    /// The paths of the set, behind `path`.
    package func paths(below path: PropertyListPath = []) -> [PropertyListPath] {
        var result = isListed ? [path] : []
        for (step, child) in children { result += child.paths(below: path.appending(step)) }
        return result
    }
}
