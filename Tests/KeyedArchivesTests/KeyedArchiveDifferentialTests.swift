import Foundation
import KeyedArchives
import PropertyLists
import TestSupport
import Testing

@Suite("Archives as Foundation reads them", .disabled(if: Corpus.isAbsent, "KVCODABLE_CORPUS is not set"))
struct KeyedArchiveDifferentialTests {
    /// Why NSKeyedUnarchiver gives something else; the table in KeyedArchives.md says which of the two is right.
    enum Reason: Sendable {
        /// Its object has no form in a tree, or more in it than its keys: it keeps values under the names of keys.
        case classOutsideTable
        /// It cannot decode the data that NSMutableData refers to.
        case mutableData
        /// It leaves references in a dictionary that has no `$class` as they are.
        case noClass
        /// It ends the program: by a trap, or by following an object inside itself until the stack is full.
        case trap
    }

    private static let differences: [String: Reason] = {
        var reasons: [String: Reason] = [
            "circular_archive.plist": .trap, "nsmutabledata_archive.plist": .mutableData,
            "missing_uid_archive.plist": .noClass, "no_class_meta_archive.plist": .trap,
            "binary_NSKeyedArchiver.plist": .classOutsideTable,
        ]
        for name in [
            "ByteCountFormatter-AllFieldsSet", "ByteCountFormatter-Default", "DateIntervalFormatter-Default",
            "DateIntervalFormatter-ValuesSetWithTemplate", "DateIntervalFormatter-ValuesSetWithoutTemplate",
            "ISO8601DateFormatter-Default", "ISO8601DateFormatter-OptionsSet", "NSAttributedString",
            "NSIndexPath-Empty", "NSIndexPath-ManyIndices", "NSIndexPath-OneIndex", "NSIndexSet-Empty",
            "NSIndexSet-ManyRanges", "NSIndexSet-OneRange", "NSMeasurement-Angle", "NSMeasurement-Frequency",
            "NSMeasurement-Length", "NSMeasurement-Zero", "NSMutableAttributedString", "NSMutableIndexSet-Empty",
            "NSMutableIndexSet-ManyRanges", "NSMutableIndexSet-OneRange", "NSTextCheckingResult-ComplexRegex",
            "NSTextCheckingResult-ExtendedRegex", "NSTextCheckingResult-SimpleRegex",
        ] {
            reasons[name + ".archive"] = .classOutsideTable
        }
        for name in ["ConcreteValue", "EdgeInsets", "Notification", "Range", "Rect"] {
            reasons["NSKeyedUnarchiver-\(name)Test.plist"] = .classOutsideTable
        }
        return reasons
    }()

    @Test(
        "gives what NSKeyedUnarchiver gives, but in the files that are named", arguments: Corpus.files(in: "archives"))
    func agrees(_ file: Corpus.File) throws {
        let name = String(file.name.split(separator: "/").last ?? "")
        let reason = Self.differences[name]
        guard reason != .trap else { return }
        let ours = (try? PropertyList(parsing: file.bytes).unarchived()).map(inAnyOrder) ?? "error"
        let theirs = Self.unarchived(Data(file.bytes))
        #expect((ours != theirs) == (reason != nil), "\(name): \(ours), \(theirs)")
    }

    /// The values under every top key, unwrapped where that is `root`.
    private static func unarchived(_ data: Data) -> String {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data) else { return "error" }
        unarchiver.requiresSecureCoding = false
        unarchiver.decodingFailurePolicy = .setErrorAndReturn
        for name in ["crap.Foo", "FooDataclass"] { unarchiver.setClass(ArchivedObject.self, forClassName: name) }
        guard let key = ["root", "rooty", "foundItems"].first(where: unarchiver.containsValue) else { return "error" }
        let value = unarchiver.decodeObject(forKey: key)
        guard unarchiver.error == nil, let value else { return "error" }
        return key == "root" ? inAnyOrder(value) : "{\"\(key)\": \(inAnyOrder(value))}"
    }
}

/// Stands for the classes of the program that wrote the archives: an object and the keys that are in it.
private final class ArchivedObject: NSObject, NSCoding {
    private static let objects = [
        "categories", "list_field", "metadata", "recursive", "stamp", "str_field", "title",
    ]
    private(set) var values: [String: Any] = [:]

    /// Numbers may stand in the object itself, where a coder gives them for their kind alone.
    init?(coder: NSCoder) {
        super.init()
        for key in Self.objects where coder.containsValue(forKey: key) { values[key] = coder.decodeObject(forKey: key) }
        if coder.containsValue(forKey: "active") {
            values["active"] = NSNumber(value: coder.decodeBool(forKey: "active"))
        }
        for key in ["count", "int_field"] where coder.containsValue(forKey: key) {
            values[key] = NSNumber(value: coder.decodeInt64(forKey: key))
        }
        if coder.containsValue(forKey: "float_field") {
            values["float_field"] = NSNumber(value: coder.decodeDouble(forKey: "float_field"))
        }
    }

    func encode(with coder: NSCoder) {}
}

/// A tree as one line, arrays sorted: the elements of sets come in no order.
private func inAnyOrder(_ list: PropertyList) -> String {
    switch list.kind {
    case .array: "[" + list.elements.map(inAnyOrder).sorted().joined(separator: ", ") + "]"
    case .dictionary:
        "{" + list.entries.map { quoted($0.key) + ": " + inAnyOrder($0.value) }.joined(separator: ", ") + "}"
    case .real: decimal(list.real ?? .nan)
    default: notation(list)
    }
}

/// An object as a tree, in the same line.
private func inAnyOrder(_ value: Any) -> String {
    func line(_ entries: [String: Any]) -> String {
        let keys = entries.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return "{"
            + keys.map { quoted($0) + ": " + inAnyOrder(entries[$0] ?? NSNull()) }.joined(
                separator: ", ")
            + "}"
    }
    func line(_ elements: [Any]) -> String {
        "[" + elements.map { inAnyOrder($0) }.sorted().joined(separator: ", ") + "]"
    }
    switch value {
    case let object as ArchivedObject:
        return line(object.values)
    case let set as NSCountedSet: return line(set.flatMap { Array(repeating: $0, count: set.count(for: $0)) })
    case let set as NSSet: return line(set.allObjects)
    case let set as NSOrderedSet: return line(set.array)
    case let array as [Any]: return line(array)
    case let entries as [String: Any]: return line(entries)
    case let text as String: return quoted(text)
    case let number as NSNumber:
        switch String(cString: number.objCType) {
        case "c", "B": return number.boolValue ? "true" : "false"
        case "d", "f": return decimal(number.doubleValue)
        default: return number.stringValue
        }
    case let date as Date: return "date " + decimal(date.timeIntervalSinceReferenceDate)
    case let data as Data: return "<" + data.map { String(format: "%02x", $0) }.joined() + ">"
    case let url as NSURL: return quoted(url.absoluteString)
    case let url as URL: return quoted(url.absoluteString)
    case let uuid as UUID: return quoted(uuid.uuidString)
    case let uuid as NSUUID: return quoted(uuid.uuidString)
    case is NSNull: return "null"
    default: return "\(type(of: value))"
    }
}
