import Foundation
import KVCodable

/// Values to begin with, in stored form: a new element of a list, and a struct that was not there.
struct InitialValues {
    /// The most values and bytes in one: a struct can have another twice, that one another twice, and so on.
    private static let mostSize = 1 << 14

    /// The text for the UUIDs of a new value, which the page makes.
    static let newID = UUID().uuidString

    private var known: [String: PropertyList?] = [:]
    private var depth = 0

    /// Nil where there is none: a type that must contain itself, or too much.
    mutating func value(of type: CodableType) -> PropertyList? {
        let core = type.wrapped
        let name = core.description
        if let value = known[name] { return value }
        guard depth < 64 else { return nil }
        depth += 1
        defer { depth -= 1 }
        let value = isComposite(core) ? composite(core) : Self.scalar(TypeLimits(of: core))
        var room = Self.mostSize
        let result = value.flatMap { Self.fits($0, &room) ? $0 : nil }
        known.updateValue(result, forKey: name)
        return result
    }

    private static func fits(_ value: PropertyList, _ room: inout Int) -> Bool {
        room -= 1 + (value.string?.utf8.count ?? value.data?.count ?? 0)
        guard room >= 0 else { return false }
        return switch value.kind {
        case .array: value.elements.allSatisfy { fits($0, &room) }
        case .dictionary: value.entries.allSatisfy { fits($0.1, &room) }
        default: true
        }
    }

    /// A struct with the fields that it must have.
    mutating func value(of members: [CodableType.Member]) -> PropertyList? {
        var entries: [String: PropertyList] = [:]
        for member in members where !member.mayBeAbsent {
            guard let value = value(of: member.type) else { return nil }
            entries[member.key] = value
        }
        return PropertyList(entries)
    }

    private func isComposite(_ type: CodableType) -> Bool {
        !type.cases.isEmpty || type.element != nil || !type.members.isEmpty
    }

    private mutating func composite(_ type: CodableType) -> PropertyList? {
        if let first = type.cases.first {
            return first.rawValue ?? value(of: first.members).map { PropertyList([first.name: $0]) }
        }
        if let element = type.element {
            guard !type.description.hasPrefix("[String:") else { return [:] }
            let count = TypeLimits(of: type).least ?? 0
            guard count > 0, count <= 1000 else { return [] }
            return value(of: element).map { PropertyList(Array(repeating: $0, count: count)) }
        }
        return value(of: type.members)
    }

    private static func scalar(_ limits: TypeLimits) -> PropertyList {
        let least = min(limits.least ?? 0, 1000)
        switch limits.name {
        case "Bool": return false
        case "Date":
            let now = Date().timeIntervalSinceReferenceDate
            return PropertyList(Date(timeIntervalSinceReferenceDate: now.rounded()))
        case "Data": return PropertyList(Data(count: least / 4 * 3))
        case "UUID": return PropertyList(newID)
        case "URL": return "about:blank"
        case "Decimal": return "0"
        case "Duration": return [0, 0]
        case "UID": return PropertyList(PropertyListUID(0))
        case "Double", "Float": return PropertyList(number(limits))
        case "String", "Any": return PropertyList(String(repeating: "?", count: least))
        case let name where name.hasPrefix("Int") || name.hasPrefix("UInt"): return PropertyList(Int64(number(limits)))
        default: return [:]
        }
    }

    /// The number within the limits that is nearest to 0.
    private static func number(_ limits: TypeLimits) -> Double {
        max(limits.low ?? 0, min(limits.high ?? 0, 0))
    }
}
