internal import PropertyLists

/// Makes a type's plan. Each declared struct becomes one entry, however often it occurs.
struct TypePlanCompiler {
    private var tables = TypePlan.Tables()
    private var structures: [ObjectIdentifier: Int] = [:]
    /// Structs whose fields are still to be compiled: a list rather than recursion, which long chains would exhaust.
    private var pending: [(type: StructureType, index: Int)] = []

    static func plan(of form: CodableType.Form, generation: Int) -> TypePlan? {
        var compiler = TypePlanCompiler()
        do throws(TypeError) {
            let root = compiler.add(try compiler.node(form))
            while let (type, index) = compiler.pending.popLast() { try compiler.fill(index, type) }
            return TypePlan(compiler.tables, root: root, generation: generation)
        } catch {
            return nil
        }
    }

    private mutating func add(_ node: TypePlan.Node) -> Int {
        tables.nodes.append(node)
        return tables.nodes.count - 1
    }

    /// Recursion is bounded by the nesting of type expressions.
    private mutating func node(_ form: CodableType.Form) throws(TypeError) -> TypePlan.Node {
        switch form {
        case .scalar(let scalar): return node(scalar)
        case .any: return TypePlan.Node(shape: .any)
        case .array(let element, let length):
            let inner = try node(element)
            var node = TypePlan.Node(shape: .array, keepsUnknown: inner.keepsUnknown, operand: add(inner))
            limit(&node, length)
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
        case .enumeration(let enumeration): return add(enumeration)
        case .swift: return TypePlan.Node(shape: .other, keepsUnknown: true)
        case .reference(let reference): return try node(try reference.resolved())
        }
    }

    private func node(_ scalar: ScalarType) -> TypePlan.Node {
        var node = TypePlan.Node(shape: .other)
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
        case .integers(let range):
            (node.low, node.high) = (max(node.low, range.lowerBound), min(node.high, range.upperBound))
        case .reals(let range):
            (node.lowReal, node.highReal) = (range.lowerBound, range.upperBound)
            node.isLimited = true
        case nil: break
        }
        limit(&node, scalar.length)
        return node
    }

    private func limit(_ node: inout TypePlan.Node, _ length: ClosedRange<Int>?) {
        guard let length else { return }
        node.low = Int64(length.lowerBound)
        node.high = Int64(length.upperBound)
        node.isLimited = true
    }

    private mutating func index(of type: StructureType) -> Int {
        let identity = ObjectIdentifier(type)
        if let known = structures[identity] { return known }
        tables.structures.append(TypePlan.Structure())
        let index = tables.structures.count - 1
        structures[identity] = index
        pending.append((type, index))
        return index
    }

    private mutating func fill(_ index: Int, _ type: StructureType) throws(TypeError) {
        var fields: [TypePlan.Field] = []
        for (field, key) in type.stored {
            let node = add(try node(field.type))
            fields.append(
                TypePlan.Field(
                    keyStart: Int32(truncatingIfNeeded: tables.text.count),
                    keyCount: Int32(truncatingIfNeeded: key.count),
                    node: Int32(truncatingIfNeeded: node), isOptional: field.isOptional, defaultIndex: -1))
            tables.text += key
            if let value = field.defaultValue {
                fields[fields.count - 1].defaultIndex = Int32(truncatingIfNeeded: tables.defaults.count)
                tables.defaults.append(value)
            }
        }
        let first = tables.fields.count
        tables.fields += fields
        tables.structures[index] = TypePlan.Structure(first: first, count: fields.count, isPlain: type.keepsNames)
    }

    private mutating func add(_ enumeration: EnumerationType) -> TypePlan.Node {
        let first = enumeration.isInteger ? tables.rawIntegers.count : tables.rawTexts.count
        for one in enumeration.cases {
            if let text = one.rawValue.string {
                tables.rawTexts.append(TypePlan.Text(start: tables.text.count, count: text.utf8.count))
                tables.text += Array(text.utf8)
            } else if let number = one.rawValue.integer {
                tables.rawIntegers.append(number)
            }
        }
        tables.enumerations.append(TypePlan.Enumeration(first: first, count: enumeration.cases.count))
        return TypePlan.Node(
            shape: enumeration.isInteger ? .integers : .strings, operand: tables.enumerations.count - 1)
    }
}
