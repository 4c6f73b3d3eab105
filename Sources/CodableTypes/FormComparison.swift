/// Whether types mean the same, part by part.
///
/// A struct may be part of another in many places, each of which has parts of its own: what was compared once is not
/// compared again, so that the time is in proportion to the types' size.
struct FormComparison {
    private struct Pair: Hashable {
        let left: ObjectIdentifier
        let right: ObjectIdentifier
    }

    private var compared: Set<Pair> = []

    static func areEqual(_ left: CodableType.Form, _ right: CodableType.Form) -> Bool {
        var comparison = FormComparison()
        return comparison.areEqual(left, right)
    }

    static func areEqual(_ left: StructureType, _ right: StructureType) -> Bool {
        var comparison = FormComparison()
        return comparison.areEqual(left, right)
    }

    /// Recursion is bounded by ``CodableType/Form/maximumNesting`` and the depth of expressions.
    private mutating func areEqual(_ left: CodableType.Form, _ right: CodableType.Form) -> Bool {
        switch (left, right) {
        case (.scalar(let left), .scalar(let right)): left == right
        case (.any, .any): true
        case (.array(let left, let leftLength), .array(let right, let rightLength)):
            leftLength == rightLength && areEqual(left, right)
        case (.dictionary(let left), .dictionary(let right)), (.optional(let left), .optional(let right)):
            areEqual(left, right)
        case (.defaulted(let left, let leftValue), .defaulted(let right, let rightValue)):
            leftValue == rightValue && areEqual(left, right)
        case (.structure(let left), .structure(let right)): areEqual(left, right)
        case (.enumeration(let left), .enumeration(let right)): left == right
        case (.reference(let left), .reference(let right)): left == right
        case (.reference(let reference), .structure(let structure)),
            (.structure(let structure), .reference(let reference)):
            reference.name == structure.name
        case (.reference(let reference), .enumeration(let enumeration)),
            (.enumeration(let enumeration), .reference(let reference)):
            reference.name == enumeration.name
        default: false
        }
    }

    private mutating func areEqual(_ left: StructureType, _ right: StructureType) -> Bool {
        if left === right { return true }
        guard left.name == right.name, left.fields.count == right.fields.count else { return false }
        let pair = Pair(left: ObjectIdentifier(left), right: ObjectIdentifier(right))
        // Met before: either it was equal, or all is over already.
        guard compared.insert(pair).inserted else { return true }
        for (left, right) in zip(left.fields, right.fields) {
            guard left.isSame(as: right), areEqual(left.type, right.type) else { return false }
        }
        return true
    }
}
