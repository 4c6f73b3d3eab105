internal import PropertyLists

/// The classes whose objects become another value than a dictionary of their keys.
enum ArchiveClass: Sendable {
    case array, dictionary, orderedSet, countedSet, date, data, url, uuid, null, string

    init?(name: String) {
        guard let known = Self.named[name] else { return nil }
        self = known
    }

    /// The array or dictionary that a class is one of, by its superclasses or by the classes that may replace it.
    init?(above object: PropertyList) {
        for list in [object["$classes"], object["$classhints"]].compactMap(\.self) {
            for name in list.elements.prefix(64) {
                guard let name = name.string, let known = Self.init(name: name) else { continue }
                guard known == .array || known == .dictionary else { return nil }
                self = known
                return
            }
        }
        return nil
    }

    /// Whether an array or dictionary has no keys but those that hold its content: a subclass's own would be lost.
    func hasNothingElse(_ object: PropertyList) -> Bool {
        object.count == (self == .array ? 2 : 3)
    }

    private static let named: [String: ArchiveClass] = [
        "NSArray": .array, "NSMutableArray": .array, "NSSet": .array, "NSMutableSet": .array,
        "NSDictionary": .dictionary, "NSMutableDictionary": .dictionary,
        "NSOrderedSet": .orderedSet, "NSMutableOrderedSet": .orderedSet, "NSCountedSet": .countedSet,
        "NSDate": .date, "NSData": .data, "NSMutableData": .data, "NSURL": .url, "NSUUID": .uuid, "NSNull": .null,
        "NSString": .string, "NSMutableString": .string,
        "NSAttributedString": .string, "NSMutableAttributedString": .string,
    ]

    /// Whether an object has the keys that its class needs; an object without them stays a dictionary of its keys.
    func fits(_ object: PropertyList) -> Bool {
        switch self {
        case .array: object["NS.objects"] != nil
        case .dictionary: object["NS.objects"] != nil && object["NS.keys"] != nil
        case .orderedSet: object["NS.object.0"] != nil || object["NS.objects"] != nil || object.count == 1
        case .countedSet: object["NS.count"] != nil
        case .date: object["NS.time"] != nil
        case .data: object["NS.data"] != nil
        case .url: object["NS.relative"] != nil
        case .uuid: object["NS.uuidbytes"] != nil
        case .null: true
        case .string: object["NS.string"] != nil
        }
    }
}
