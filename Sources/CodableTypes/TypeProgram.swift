internal import CKVCodable
internal import PropertyLists

/// A type as flat tables, to check in one pass, without counting references, whether a value is of the type and has
/// the same stored and program form. Nothing is said about other values: ``Decoding`` and ``Encoding`` see to them.
///
/// Immutable. Names in the type mean what they mean when the program is made.
final class TypeProgram: Sendable {
    /// What a value is checked against; the numbers are places in the tables.
    struct Rule: BitwiseCopyable, Sendable {
        enum Operation: UInt8, BitwiseCopyable, Sendable {
            case kind, integer, unsigned, real, string, data, any, array, dictionary, optional, structure, enumeration
            /// What only the longer way checks.
            case other
        }

        var operation: Operation
        var kind = PropertyListKind.null
        /// The rule of the parts; the first field of a struct; the first case of an enum.
        var part: Int32 = 0
        /// Fields or cases.
        var count: Int32 = 0
        /// The lowest and highest number or count; the bits of reals.
        var low: Int64 = .min
        var high: Int64 = .max
    }

    struct Field: BitwiseCopyable, Sendable {
        var nameStart: Int32
        var nameCount: Int32
        var rule: Int32
        var mayBeAbsent: Bool
        var isOptional: Bool
    }

    let rules: [Rule]
    let fields: [Field]
    let names: [UInt8]
    /// Whether somewhere in the type a field has a default: a new value then has keys that are not written.
    let hasDefaults: Bool

    init(_ form: CodableType.Form) {
        var compiler = TypeCompiler()
        compiler.compile(form)
        rules = compiler.rules
        fields = compiler.fields
        names = compiler.names
        hasDefaults = compiler.hasDefaults
    }

    /// Whether the value is of the type, in both forms alike. False may also mean that only the longer way can tell.
    func accepts(_ list: PropertyList) -> Bool {
        rules.withUnsafeBufferPointer { rules in
            fields.withUnsafeBufferPointer { fields in
                names.withUnsafeBufferPointer { names in
                    guard let rules = rules.baseAddress else { return false }
                    let check = TypeCheck(
                        nodes: list.document.nodes, bytes: list.document.bytes, rules: rules,
                        fields: fields, names: names)
                    defer { withExtendedLifetime(list.document) {} }
                    return check.accepts(list.index, 0, depth: 0)
                }
            }
        }
    }
}

/// Makes the tables. Each struct is compiled once; what follows from where is bounded by a queue, not by recursion.
private struct TypeCompiler {
    var rules: [TypeProgram.Rule] = []
    var fields: [TypeProgram.Field] = []
    var names: [UInt8] = []
    var hasDefaults = false
    private var known: [ObjectIdentifier: Int32] = [:]
    private var waiting: [(StructureType, Int)] = []

    mutating func compile(_ form: CodableType.Form) {
        _ = add(form)
        while let (structure, rule) = waiting.popLast() { fill(structure, rule) }
    }

    private mutating func add(_ rule: TypeProgram.Rule) -> Int32 {
        rules.append(rule)
        return Int32(truncatingIfNeeded: rules.count - 1)
    }

    private mutating func add(_ form: CodableType.Form) -> Int32 {
        switch form {
        case .scalar(let scalar): return add(rule(of: scalar))
        case .any: return add(TypeProgram.Rule(operation: .any))
        case .array(let element, let length):
            let low = Int64(length?.lowerBound ?? 0)
            return add(.array, element, low, Int64(length?.upperBound ?? .max))
        case .dictionary(let value): return add(.dictionary, value)
        case .optional(let wrapped): return add(.optional, wrapped)
        case .defaulted(let wrapped, _): return add(wrapped)
        case .structure(let structure): return add(structure)
        case .enumeration(let enumeration): return add(enumeration)
        case .reference(let reference):
            guard let form = try? reference.resolved() else { return add(TypeProgram.Rule(operation: .other)) }
            return add(form)
        }
    }

    private mutating func add(
        _ operation: TypeProgram.Rule.Operation, _ part: CodableType.Form, _ low: Int64 = 0, _ high: Int64 = .max
    ) -> Int32 {
        let index = add(TypeProgram.Rule(operation: operation, low: low, high: high))
        rules[Int(index)].part = add(part)
        return index
    }

    private mutating func add(_ structure: StructureType) -> Int32 {
        if let index = known[ObjectIdentifier(structure)] { return index }
        guard structure.keepsNames else {
            hasDefaults = hasDefaults || structure.fields.contains { $0.defaultValue != nil }
            return add(TypeProgram.Rule(operation: .other))
        }
        let index = add(TypeProgram.Rule(operation: .structure))
        known[ObjectIdentifier(structure)] = index
        waiting.append((structure, Int(index)))
        return index
    }

    private mutating func fill(_ structure: StructureType, _ index: Int) {
        rules[index].part = Int32(truncatingIfNeeded: fields.count)
        rules[index].count = Int32(truncatingIfNeeded: structure.stored.count)
        let start = fields.count
        for (field, key) in structure.stored {
            if field.defaultValue != nil { hasDefaults = true }
            add(name: key, rule: 0, mayBeAbsent: field.isOptional && field.defaultValue == nil, field.isOptional)
        }
        for (number, entry) in structure.stored.enumerated() { fields[start + number].rule = add(entry.field.type) }
    }

    private mutating func add(name: [UInt8], rule: Int32, mayBeAbsent: Bool, _ isOptional: Bool) {
        fields.append(
            TypeProgram.Field(
                nameStart: Int32(truncatingIfNeeded: names.count), nameCount: Int32(truncatingIfNeeded: name.count),
                rule: rule, mayBeAbsent: mayBeAbsent, isOptional: isOptional))
        names += name
    }

    private mutating func add(_ enumeration: EnumerationType) -> Int32 {
        // Longer lists have a set of their own to be looked up in.
        guard !enumeration.isInteger, enumeration.cases.count <= 16 else {
            return add(TypeProgram.Rule(operation: .other))
        }
        var rule = TypeProgram.Rule(operation: .enumeration)
        rule.part = Int32(truncatingIfNeeded: fields.count)
        rule.count = Int32(truncatingIfNeeded: enumeration.cases.count)
        for one in enumeration.cases {
            let name = one.rawValue.withBytes { Array($0) } ?? []
            add(name: name, rule: 0, mayBeAbsent: false, false)
        }
        return add(rule)
    }

    private func rule(of scalar: ScalarType) -> TypeProgram.Rule {
        var rule = TypeProgram.Rule(operation: .other)
        switch scalar.kind {
        case .bool: (rule.operation, rule.kind) = (.kind, .boolean)
        case .date: (rule.operation, rule.kind) = (.kind, .date)
        case .uid: (rule.operation, rule.kind) = (.kind, .uid)
        case .string, .data:
            rule.operation = scalar.kind == .string ? .string : .data
            guard let length = scalar.length else { break }
            if scalar.kind == .string { rule.operation = .other }
            (rule.low, rule.high) = (Int64(length.lowerBound), Int64(length.upperBound))
        case .double:
            rule.operation = .real
            guard case .reals(let range) = scalar.range else { break }
            rule.count = 1
            rule.low = Int64(bitPattern: range.lowerBound.bitPattern)
            rule.high = Int64(bitPattern: range.upperBound.bitPattern)
        default: limit(&rule, scalar)
        }
        return rule
    }

    private func limit(_ rule: inout TypeProgram.Rule, _ scalar: ScalarType) {
        guard let bounds = scalar.kind.bounds else { return }
        rule.operation = bounds.high > UInt64(Int64.max) ? .unsigned : .integer
        (rule.low, rule.high) = (bounds.low, Int64(clamping: bounds.high))
        guard case .integers(let range) = scalar.range else { return }
        rule.operation = .integer
        (rule.low, rule.high) = (max(rule.low, range.lowerBound), min(rule.high, range.upperBound))
    }
}
