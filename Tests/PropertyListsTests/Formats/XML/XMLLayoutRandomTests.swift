import Foundation
import PropertyLists
import TestSupport
import Testing

/// Files with comments everywhere, changed at random; what must hold is found by other readers.
@Suite struct XMLLayoutRandomTests {
    // proves: G26
    @Test("every key that remains has its comments before it, and its place among the others", arguments: 0..<200)
    func changes(_ seed: UInt64) throws {
        var file = CommentedFile(seed: seed)
        let old = file.text()
        let tree = try PropertyList(parsing: Array(old.utf8))
        #expect(try tree.laidOut(as: old) == old)
        var changer = Changer(seed: seed)
        let list = try changer.change(tree)
        let new = try list.laidOut(as: old)
        #expect(try PropertyList(parsing: Array(new.utf8)) == list)
        #expect(try list.laidOut(as: new) == new)

        let (before, after) = (CommentOrder(of: old), CommentOrder(of: new))
        for (path, comments) in before.comments {
            guard let found = after.comments[path] else { continue }
            // New keys stand behind the comments that end the last value's line.
            let expected = path.hasSuffix("/") ? Array(comments.drop { !found.contains($0) }) : comments
            #expect(expected.isSubsequence(of: found), "\(path) in\n\(old)\nof\n\(new)")
            #expect(comments.allSatisfy { new.contains($0) })
        }
        for (path, keys) in before.keys {
            guard let found = after.keys[path] else { continue }
            let (kept, added) = (keys.filter(found.contains), found.filter { !keys.contains($0) })
            #expect(found == kept + added.sorted(), "\(path) in\n\(old)\nof\n\(new)")
        }
    }

    @Test("Foundation and plistlib read the same values")
    func readers() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "layout-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        var expected: [String: String] = [:]
        func add(_ old: String, _ list: PropertyList) throws {
            let path = folder.appending(path: "\(expected.count).plist").path
            try Data(try list.laidOut(as: old).utf8).write(to: URL(filePath: path))
            expected[path] = notation(list)
        }
        for seed in 0..<40 as Range<UInt64> {
            var file = CommentedFile(seed: seed)
            let old = file.text()
            var changer = Changer(seed: seed)
            try add(old, changer.change(try PropertyList(parsing: Array(old.utf8))))
        }
        for name in XMLLayoutTests.files where name != "inside" {
            let old = try XMLLayoutTests.text(of: name)
            // Others see no fraction of a second.
            let tree = try PropertyList(parsing: Array(old.utf8)).setting(
                PropertyList(any: Date(timeIntervalSinceReferenceDate: 0)), at: ["saved"])
            try add(old, tree)
            for seed in 0..<10 as Range<UInt64> {
                var changer = Changer(seed: seed)
                try add(old, changer.change(tree))
            }
        }
        let sightings = try Sightings(of: Array(expected.keys))
        for (path, notation) in expected {
            #expect(sightings[path, .foundation] == notation)
            #expect(sightings[path, .plistlib] == notation)
        }
    }
}

/// A file that a person may have written.
private struct CommentedFile {
    private var random: SeededGenerator
    private var comments = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func text() -> String {
        "<?xml version=\"1.0\"?>\(gap(0))<plist version=\"1.0\">\(gap(0))\(dictionary(0))\(gap(0))</plist>\(gap(0))"
    }

    private mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    /// The text between two elements.
    private mutating func gap(_ depth: Int) -> String {
        var gap = ""
        if one(in: 4) { gap += " " + comment() }
        if !one(in: 5) { gap += "\n" + String(repeating: "  ", count: depth) }
        while one(in: 3) { gap += comment() + (one(in: 2) ? "\n" : "") }
        return gap
    }

    private mutating func comment() -> String {
        comments += 1
        return "<!-- \(comments)\(one(in: 6) ? "\n<key>a</key>" : "") -->"
    }

    private mutating func dictionary(_ depth: Int) -> String {
        let keys = ["a", "b", "c", "d", "e", "f &amp; g", "ö"].shuffled(using: &random)
        var text = "<dict>"
        for key in keys.prefix(Int.random(in: 0...keys.count, using: &random)) {
            text += gap(depth + 1) + "<key>\(key)</key>" + (one(in: 4) ? comment() : "") + value(depth + 1)
        }
        return text + gap(depth) + "</dict>"
    }

    private mutating func array(_ depth: Int) -> String {
        var text = "<array>"
        for _ in 0..<Int.random(in: 0...5, using: &random) { text += gap(depth + 1) + value(depth + 1) }
        return text + gap(depth) + "</array>"
    }

    private mutating func value(_ depth: Int) -> String {
        switch Int.random(in: 0..<(depth < 5 ? 10 : 7), using: &random) {
        case 0: "<true/>"
        case 1: "<integer>\(Int.random(in: -5...5, using: &random))</integer>"
        case 2: "<string>x &gt; \(Int.random(in: 0...3, using: &random))</string>"
        case 3: "<data>AAEC</data>"
        case 4: "<real>1.5</real>"
        case 5: "<dict/>"
        case 6: "<date>2001-01-01T00:00:00Z</date>"
        case 7: array(depth)
        default: dictionary(depth)
        }
    }
}

/// Changes a tree at random.
private struct Changer {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed &+ 1000) }

    mutating func change(_ list: PropertyList) throws -> PropertyList {
        var builder = PropertyListBuilder()
        try append(list, to: &builder)
        return try builder.finish()
    }

    private mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    private mutating func append(_ list: PropertyList, to builder: inout PropertyListBuilder) throws {
        switch list.kind {
        case .dictionary:
            try builder.beginDictionary()
            for (key, value) in list.entries where !one(in: 5) {
                try builder.key(key)
                try appendChanged(value, to: &builder)
            }
            while one(in: 2) {
                try builder.key(["new", "a", "zz", "0"].randomElement(using: &random) ?? "")
                try appendNew(to: &builder)
            }
            try builder.end()
        case .array:
            try builder.beginArray()
            var elements = list.elements.filter { _ in !one(in: 5) }
            if one(in: 4) { elements.shuffle(using: &random) }
            for element in elements {
                if one(in: 6) { try appendNew(to: &builder) }
                try appendChanged(element, to: &builder)
            }
            try builder.end()
        default: try builder.append(list)
        }
    }

    private mutating func appendChanged(_ list: PropertyList, to builder: inout PropertyListBuilder) throws {
        if one(in: 6) { try appendNew(to: &builder) } else { try append(list, to: &builder) }
    }

    private mutating func appendNew(to builder: inout PropertyListBuilder) throws {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: try builder.append(string: "new < \(Int.random(in: 0..<9, using: &random))")
        case 1: try builder.append(integer: Int64.random(in: 0..<99, using: &random))
        case 2: try builder.append(PropertyList(any: ["x": [1, 2], "y": [:] as [String: Any]] as [String: Any]))
        case 3: try builder.append(PropertyList(any: [true, "z"] as [Any]))
        case 4: try builder.append(data: [UInt8](repeating: 7, count: 100))
        default: try builder.append(date: 86_400)
        }
    }
}

/// The comments before each key, and the order of keys, of dictionaries that stand in dictionaries alone: read by the
/// tags, without the reader.
private struct CommentOrder {
    /// By the path; a value has its key's path and "=", a container's end the path of a key "/".
    var comments: [String: [String]] = [:]
    var keys: [String: [String]] = [:]

    init(of text: String) {
        let tags = /<!--(?s:.*?)-->|<key>[^<]*<\/key>|<[^>]*>/
        var path: [String] = []
        var waiting: [String] = []
        for tag in text.matches(of: tags).map({ String($0.0) }) {
            if tag.hasPrefix("<!--") {
                waiting.append(tag)
                continue
            }
            let isInArray = path.contains("[")
            if tag.hasPrefix("<key>") {
                let outer = path.dropLast().joined(separator: ".")
                path[path.count - 1] = tag
                if !isInArray {
                    comments[path.joined(separator: ".")] = waiting
                    keys[outer, default: []].append(String(tag.dropFirst(5).dropLast(6)))
                }
            } else if !tag.hasPrefix("</") {
                if !isInArray { comments[path.joined(separator: ".") + "="] = waiting }
                if tag == "<dict>" { path.append("") }
                if tag == "<array>" { path.append("[") }
            } else if tag == "</dict>" || tag == "</array>" {
                path.removeLast()
                if !isInArray { comments[(path + ["/"]).joined(separator: ".")] = waiting }
            }
            waiting = []
        }
    }
}

extension [String] {
    fileprivate func isSubsequence(of other: [String]) -> Bool {
        var rest = other[...]
        for element in self {
            guard let index = rest.firstIndex(of: element) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }
}
