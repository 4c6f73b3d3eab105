internal import CKVCodable
internal import PropertyLists

/// Makes a type's plan. Each declared struct becomes one entry, however often it occurs.
struct TypePlanCompiler {
    private var tables = TypePlan.Tables()
    private var structures: [ObjectIdentifier: Int32] = [:]
    private var variants: [ObjectIdentifier: Int32] = [:]
    /// Structs whose fields are still to be compiled: a list rather than recursion, which long chains would exhaust.
    private var pending: [(type: StructureType, index: Int32)] = []

    /// - Throws: the error of a name that no type has.
    static func plan(of form: CodableType.Form, generation: Int) throws(TypeError) -> TypePlan {
        var compiler = TypePlanCompiler()
        let root = compiler.add(try compiler.node(form))
        while let (type, index) = compiler.pending.popLast() { try compiler.fill(Int(index), type) }
        return TypePlan(compiler.tables, of: form, root: Int(root), generation: generation)
    }

    private mutating func add(_ node: TypePlan.Node) -> Int32 {
        var node = node
        node.plainHead = node.plainKind?.rawValue ?? .max
        return Self.append(node, to: &tables.nodes)
    }

    /// The index of the new element. A type's text would have to be gigabytes long to need more than 32 bits.
    private static func append<Element>(_ element: Element, to table: inout [Element]) -> Int32 {
        table.append(element)
        return Int32(truncatingIfNeeded: table.count - 1)
    }

    private mutating func text(_ bytes: [UInt8]) -> TypePlan.Text {
        tables.text += bytes
        return TypePlan.Text(
            start: Int32(truncatingIfNeeded: tables.text.count - bytes.count),
            count: Int32(truncatingIfNeeded: bytes.count))
    }

    // MARK: - Types

    /// Recursion is bounded by the nesting of type expressions.
    private mutating func node(_ form: CodableType.Form) throws(TypeError) -> TypePlan.Node {
        switch form {
        case .scalar(let scalar): return node(scalar)
        case .any: return TypePlan.Node(shape: .any)
        case .array(let element, let length):
            let inner = try node(element)
            var node = TypePlan.Node(shape: .array, keepsUnknown: inner.keepsUnknown, operand: add(inner))
            if let length { node.length = Self.append(length, to: &tables.lengths) }
            return node
        case .dictionary(let value):
            let inner = try node(value)
            return TypePlan.Node(shape: .dictionary, keepsUnknown: inner.keepsUnknown, operand: add(inner))
        case .optional(let wrapped):
            var node = try node(wrapped)
            node.isOptional = true
            return node
        case .defaulted(let wrapped, _): return try node(wrapped)
        case .structure(let structure):
            return TypePlan.Node(shape: .structure, keepsUnknown: true, operand: index(of: structure))
        case .variant(let variant):
            return TypePlan.Node(shape: .variant, keepsUnknown: true, operand: index(of: variant))
        case .enumeration(let enumeration): return add(enumeration)
        case .swift(let type):
            return TypePlan.Node(shape: .swift, keepsUnknown: true, operand: Self.append(type, to: &tables.swiftTypes))
        case .reference(let reference): return try node(try reference.resolved())
        }
    }

    private mutating func node(_ scalar: ScalarType) -> TypePlan.Node {
        var node = TypePlan.Node(shape: .scalar, operand: Self.append(scalar, to: &tables.scalars))
        switch scalar.kind {
        case .bool: node.shape = .boolean
        case .string: node.shape = .string
        case .data: node.shape = .data
        case .date: node.shape = .date
        case .uid: node.shape = .uid
        case .double: node.shape = .real
        default:
            if let bounds = scalar.kind.bounds {
                node.shape = .integer
                node.low = bounds.low
                node.high = Int64(clamping: bounds.high)
            }
        }
        switch scalar.range {
        case .integers(let range): limit(&node, range)
        case .reals: node.isLimited = true
        case nil: node.isLimited = scalar.length != nil
        }
        return node
    }

    private func limit(_ node: inout TypePlan.Node, _ range: TypeBounds<Int128>) {
        if let low = range.low { node.low = max(node.low, Int64(clamping: low)) }
        if let high = range.high { node.high = min(node.high, Int64(clamping: high)) }
        // Numbers beyond Int64 alone are left to the scalar type: here, none is allowed.
        if let low = range.low, low > Int64.max { node.high = .min }
    }

    // MARK: - Structs

    private mutating func index(of type: StructureType) -> Int32 {
        let identity = ObjectIdentifier(type)
        if let known = structures[identity] { return known }
        let index = Self.append(TypePlan.Structure(), to: &tables.structures)
        tables.structureTypes.append(type)
        structures[identity] = index
        pending.append((type, index))
        return index
    }

    private mutating func fill(_ index: Int, _ type: StructureType) throws(TypeError) {
        let transient = zip(type.fields, 0...).filter(\.0.isTransient).map { (field: $0, index: $1, key: [UInt8]()) }
        let all = type.stored + transient
        var structure = TypePlan.Structure(
            first: tables.fields.count, count: type.stored.count, total: all.count, isPlain: type.keepsNames)
        let keysStart = tables.text.count
        tables.text.reserveCapacity(keysStart + all.reduce(0) { $0 + $1.key.count + $1.field.name.utf8.count })
        for (_, _, key) in all { tables.text += key }
        structure.keys = TypePlan.Text(
            start: Int32(truncatingIfNeeded: keysStart), count: Int32(truncatingIfNeeded: tables.text.count - keysStart)
        )
        var key = structure.keys.start
        var fields: [TypePlan.Field] = []
        for (field, declaration, bytes) in all {
            let text = TypePlan.Text(start: key, count: Int32(truncatingIfNeeded: bytes.count))
            fields.append(
                TypePlan.Field(
                    key: text, node: add(try node(field.type)),
                    nameLength: Int32(truncatingIfNeeded: field.name.utf8.count),
                    rank: 0,
                    declaration: Int32(truncatingIfNeeded: declaration),
                    defaultIndex: field.defaultValue.map { Self.append($0, to: &tables.defaults) } ?? -1,
                    isOptional: field.isOptional, isTransient: field.isTransient, scalarDefault: kv_node(kind: .null)))
            key += text.count
        }
        structure.names = addNames(all.map(\.field), keys: type.keepsNames ? structure.keys : nil, to: &fields)
        tables.fields += fields
        tables.structures[index] = structure
    }

    /// Writes the names in the order of their bytes, and the bytes of scalar defaults; gives the text of all.
    ///
    /// - Parameter keys: the text of the keys, which ends the text so far, where they are the names; else nil.
    private mutating func addNames(
        _ types: [StructureType.Field], keys: TypePlan.Text?, to fields: inout [TypePlan.Field]
    ) -> TypePlan.Text {
        let start = keys.map { Int($0.start) } ?? tables.text.count
        let order = types.indices.map { ($0, Array(types[$0].name.utf8)) }
            .sorted { $0.1.lexicographicallyPrecedes($1.1) }
        for (rank, (index, name)) in order.enumerated() {
            fields[index].rank = Int32(truncatingIfNeeded: rank)
            let nameStart = keys == nil ? tables.text.count : Int(fields[index].key.start)
            tables.names.append(
                kv_node(kind: .null, count: name.count, payload: UInt64(truncatingIfNeeded: nameStart)))
            if keys == nil { tables.text += name }
        }
        for (index, type) in types.enumerated() {
            guard let value = type.defaultValue, !value.kind.isContainer else { continue }
            fields[index].scalarDefault = value.node
            guard value.node.hasBytes else { continue }
            fields[index].scalarDefault.payload = UInt64(truncatingIfNeeded: tables.text.count)
            tables.text += value.document.buffer(of: value.node)
        }
        return TypePlan.Text(
            start: Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: tables.text.count - start))
    }

    // MARK: - Enums

    private mutating func index(of type: VariantType) -> Int32 {
        let identity = ObjectIdentifier(type)
        if let known = variants[identity] { return known }
        let range = TypePlan.Range(first: tables.cases.count, count: type.sorted.count)
        for (values, key) in type.sorted {
            tables.cases.append(TypePlan.Case(key: text(key), structure: index(of: values)))
        }
        let index = Self.append(range, to: &tables.variants)
        variants[identity] = index
        tables.variantTypes.append(type)
        return index
    }

    private mutating func add(_ enumeration: EnumerationType) -> TypePlan.Node {
        let first = enumeration.isInteger ? tables.rawIntegers.count : tables.rawTexts.count
        if enumeration.isInteger {
            tables.rawIntegers += enumeration.cases.compactMap(\.rawValue.integer).sorted()
        } else {
            let texts = enumeration.cases.map { Array(($0.rawValue.string ?? "").utf8) }
            for raw in texts.sorted(by: { $0.lexicographicallyPrecedes($1) }) { tables.rawTexts.append(text(raw)) }
        }
        tables.enumerationTypes.append(enumeration)
        let range = TypePlan.Range(first: first, count: enumeration.cases.count)
        return TypePlan.Node(
            shape: enumeration.isInteger ? .integers : .strings, operand: Self.append(range, to: &tables.enumerations))
    }
}
