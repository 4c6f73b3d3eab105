import Foundation
import KVCodable

/// Values to begin with, in stored form: what a new element of a list is, and a struct that was not there.
struct InitialValues {
    private var known: [String: PropertyList] = [:]
    private var depth = 0

    /// Nil where there is none: a type that must contain itself.
    mutating func value(of type: CodableType) -> PropertyList? {
        let core = type.wrapped
        let name = core.description
        if let value = known[name] { return value }
        guard depth < 64 else { return nil }
        depth += 1
        defer { depth -= 1 }
        let value = composite(core) ?? Self.scalar(TypeLimits(of: core))
        known[name] = value
        return value
    }

    /// A struct with what it must have.
    mutating func value(of members: [CodableType.Member]) -> PropertyList? {
        var entries: [String: PropertyList] = [:]
        for member in members where !member.mayBeAbsent {
            entries[member.key] = value(of: member.type)
        }
        return PropertyList(entries)
    }

    private mutating func composite(_ type: CodableType) -> PropertyList? {
        if let first = type.cases.first {
            return first.rawValue ?? value(of: first.members).map { PropertyList([first.name: $0]) }
        }
        if let element = type.element {
            guard !type.description.hasPrefix("[String:") else { return [:] }
            let count = TypeLimits(of: type).least ?? 0
            let one = count > 0 && count <= 1000 ? value(of: element) : nil
            return PropertyList(one.map { Array(repeating: $0, count: count) } ?? [])
        }
        return type.members.isEmpty ? nil : value(of: type.members)
    }

    private static func scalar(_ limits: TypeLimits) -> PropertyList {
        let least = min(limits.least ?? 0, 1000)
        switch limits.name {
        case "Bool": return false
        case "Date":
            let now = Date().timeIntervalSinceReferenceDate
            return PropertyList(Date(timeIntervalSinceReferenceDate: now.rounded()))
        case "Data": return PropertyList(Data(count: least / 4 * 3))
        case "UUID": return PropertyList(UUID().uuidString)
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
