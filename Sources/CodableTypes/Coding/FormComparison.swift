/// Whether types mean the same, part by part.
///
/// A struct may occur many times in another: a pair that was met is not compared again, so that the time is in
/// proportion to the types' size. A list rather than recursion, which long chains of structs would exhaust.
struct FormComparison {
    private struct Pair: Hashable {
        let left: ObjectIdentifier
        let right: ObjectIdentifier
    }

    private var met: Set<Pair> = []
    private var pending: [(left: StructureType, right: StructureType)] = []
    private var pendingVariants: [(left: VariantType, right: VariantType)] = []

    static func areEqual(_ left: CodableType.Form, _ right: CodableType.Form) -> Bool {
        var comparison = FormComparison()
        return comparison.areEqual(left, right)
    }

    /// Compares two more types; not to be called again once two differed.
    mutating func areEqual(_ left: CodableType.Form, _ right: CodableType.Form) -> Bool {
        agree(left, right) && finish()
    }

    private mutating func finish() -> Bool {
        repeat {
            while let (left, right) = pending.popLast() { guard agree(left, right) else { return false } }
            while let (left, right) = pendingVariants.popLast() { guard agree(left, right) else { return false } }
        } while !pending.isEmpty
        return true
    }

    private mutating func agree(_ left: StructureType, _ right: StructureType) -> Bool {
        guard left.name == right.name, left.fields.count == right.fields.count else { return false }
        for (left, right) in zip(left.fields, right.fields) {
            guard left.isSame(as: right), agree(left.type, right.type) else { return false }
        }
        return true
    }

    private mutating func agree(_ left: VariantType, _ right: VariantType) -> Bool {
        guard left.name == right.name, left.cases.count == right.cases.count else { return false }
        for (left, right) in zip(left.cases, right.cases) {
            guard left.name == right.name else { return false }
            pending.append((left.values, right.values))
        }
        return true
    }

    /// Compares all but the fields of structs, which it puts on the list. Recursion is bounded by the nesting of type
    /// expressions.
    private mutating func agree(_ left: CodableType.Form, _ right: CodableType.Form) -> Bool {
        switch (left, right) {
        case (.scalar(let left), .scalar(let right)): return left == right
        case (.any, .any): return true
        case (.array(let left, let leftLength), .array(let right, let rightLength)):
            return leftLength == rightLength && agree(left, right)
        case (.dictionary(let left), .dictionary(let right)), (.optional(let left), .optional(let right)):
            return agree(left, right)
        case (.defaulted(let left, let leftValue), .defaulted(let right, let rightValue)):
            return leftValue == rightValue && agree(left, right)
        case (.structure(let left), .structure(let right)):
            let pair = Pair(left: ObjectIdentifier(left), right: ObjectIdentifier(right))
            if left !== right, met.insert(pair).inserted { pending.append((left, right)) }
            return true
        case (.variant(let left), .variant(let right)):
            let pair = Pair(left: ObjectIdentifier(left), right: ObjectIdentifier(right))
            if left !== right, met.insert(pair).inserted { pendingVariants.append((left, right)) }
            return true
        case (.enumeration(let left), .enumeration(let right)): return left == right
        case (.swift(let left), .swift(let right)): return left == right
        case (.reference(let reference), let form), (let form, .reference(let reference)):
            return form.declaredName == reference.name
        default: return false
        }
    }
}

extension CodableType.Form {
    /// The name of a declared type.
    var declaredName: String? {
        switch self {
        case .structure(let structure): structure.name
        case .variant(let variant): variant.name
        case .enumeration(let enumeration): enumeration.name
        case .swift(let type): type.name
        case .reference(let reference): reference.name
        default: nil
        }
    }
}
