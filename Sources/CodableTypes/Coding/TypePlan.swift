internal import CKVCodable
internal import PropertyLists

/// A type as flat tables, whose entries refer to one another by index: values are checked, decoded and encoded by them
/// where speed counts.
///
/// Walking a document beside these tables takes no reference count, no look-up by name and no lock; a recursive struct
/// is an index that leads back.
///
/// `@unchecked Sendable`: nothing changes after `init`, and the memory is freed with the last reference. The indexes
/// into the tables are made by ``TypePlanCompiler`` alone, and are therefore used without a check.
final class TypePlan: @unchecked Sendable {
    /// A type: its shape, and the indexes of its parts.
    struct Node: BitwiseCopyable, Sendable {
        enum Shape: UInt8, BitwiseCopyable, Sendable {
            case boolean, integer, real, string, data, date, uid, any
            case array, dictionary, structure, variant
            /// Raw values of an enum.
            case strings, integers
            /// A scalar that only ``ScalarType`` can check.
            case scalar
            /// A registered Swift type.
            case swift
        }

        var shape: Shape
        var isOptional = false
        /// Whether a value of the type may hold keys that the type does not know.
        var keepsUnknown = false
        /// Whether some values of the shape are not of the type.
        var isLimited = false
        /// A head that makes any node a value of the type, in both forms; no node has the default.
        var plainHead = UInt32.max
        /// The node of the element or value; the index of the scalar, struct, enum or Swift type.
        var operand: Int32 = 0
        /// The index of an array's length; -1 for any.
        var length: Int32 = -1
        /// The integers that are allowed.
        var low = Int64.min
        var high = Int64.max

        /// Whether an integer is allowed.
        func allows(_ number: Int64) -> Bool { number >= low && number <= high }

        /// Whether a scalar's node alone says that it is a value of the type, in both forms.
        func isPlainly(_ node: kv_node) -> Bool {
            if node.head == plainHead { return true }
            return shape == .integer && node.kind == .integer && allows(Int64(bitPattern: node.payload))
        }
    }

    /// A part of `text`.
    struct Text: BitwiseCopyable, Sendable {
        var start: Int32
        var count: Int32
    }

    struct Field: BitwiseCopyable, Sendable {
        /// The key in the file.
        var key: Text
        var node: Int32
        /// How many bytes its name has.
        var nameLength: Int32
        /// The field's index in the order of names.
        var rank: Int32
        /// Its index in the order of declaration.
        var declaration: Int32
        /// The index of the default; -1 for none.
        var defaultIndex: Int32 = -1
        var isOptional: Bool
        var isTransient: Bool
        /// The default's node where it is no container: its bytes are a part of `text`.
        var scalarDefault: kv_node
    }

    /// A struct's fields: those that are stored, in the order of their keys' bytes, and behind them the transient ones.
    struct Structure: BitwiseCopyable, Sendable {
        var first = 0
        /// The number of stored fields.
        var count = 0
        /// The number of all fields.
        var total = 0
        /// Whether names and keys are the same, and no field is transient.
        var isPlain = true
        /// All keys, one behind the other; and all names, with the bytes of defaults.
        var keys = Text(start: 0, count: 0)
        var names = Text(start: 0, count: 0)
    }

    /// A case of an enum with associated values.
    struct Case: BitwiseCopyable, Sendable {
        var key: Text
        var structure: Int32
    }

    /// The cases of an enum, in the order of their names' bytes; or its raw values, in the order of their bytes, or of
    /// the numbers.
    struct Range: BitwiseCopyable, Sendable {
        var first: Int
        var count: Int
    }

    struct Tables: Sendable {
        var nodes: [Node] = []
        var fields: [Field] = []
        /// For each struct, from its first field on: the names of its fields as key nodes, in the order of their bytes.
        var names: [kv_node] = []
        var structures: [Structure] = []
        var cases: [Case] = []
        var variants: [Range] = []
        var rawTexts: [Text] = []
        var rawIntegers: [Int64] = []
        var enumerations: [Range] = []
        var text: [UInt8] = []
        var scalars: [ScalarType] = []
        var enumerationTypes: [EnumerationType] = []
        var swiftTypes: [SwiftType] = []
        /// The declared types that `structures` and `variants` were made of.
        var structureTypes: [StructureType] = []
        var variantTypes: [VariantType] = []
        var lengths: [TypeBounds<Int>] = []
        /// The defaults of fields, in program form.
        var defaults: [PropertyList] = []
    }

    /// The tables that a walk reads, without a reference to count. Valid while the plan is alive, which every walk
    /// makes sure of.
    ///
    /// `@unchecked Sendable`: the tables are not written once the plan is made.
    struct View: BitwiseCopyable, @unchecked Sendable {
        let nodes: UnsafePointer<Node>
        let fields: UnsafePointer<Field>
        let names: UnsafePointer<kv_node>
        let structures: UnsafePointer<Structure>
        let structureCount: Int
        let cases: UnsafePointer<Case>
        let variants: UnsafePointer<Range>
        let rawTexts: UnsafePointer<Text>
        let rawIntegers: UnsafePointer<Int64>
        let enumerations: UnsafePointer<Range>
        let text: UnsafePointer<UInt8>

        fileprivate init(_ tables: Tables) {
            nodes = TypePlan.table(tables.nodes)
            fields = TypePlan.table(tables.fields)
            names = TypePlan.table(tables.names)
            structures = TypePlan.table(tables.structures)
            structureCount = tables.structures.count
            cases = TypePlan.table(tables.cases)
            variants = TypePlan.table(tables.variants)
            rawTexts = TypePlan.table(tables.rawTexts)
            rawIntegers = TypePlan.table(tables.rawIntegers)
            enumerations = TypePlan.table(tables.enumerations)
            text = TypePlan.table(tables.text)
        }

        fileprivate func deallocate() {
            nodes.deallocate()
            fields.deallocate()
            names.deallocate()
            structures.deallocate()
            cases.deallocate()
            variants.deallocate()
            rawTexts.deallocate()
            rawIntegers.deallocate()
            enumerations.deallocate()
            text.deallocate()
        }

        /// The bytes of one of `names`.
        func bytes(_ name: kv_node) -> UnsafeBufferPointer<UInt8> {
            UnsafeBufferPointer(start: text + Int(truncatingIfNeeded: name.payload), count: Int(name.count))
        }

        func bytes(_ part: Text) -> UnsafeBufferPointer<UInt8> {
            UnsafeBufferPointer(start: text + Int(part.start), count: Int(part.count))
        }
    }

    let view: View
    let scalars: [ScalarType]
    let enumerationTypes: [EnumerationType]
    let swiftTypes: [SwiftType]
    let structureTypes: [StructureType]
    let variantTypes: [VariantType]
    let lengths: [TypeBounds<Int>]
    let defaults: [PropertyList]
    let root: Int
    /// The state of the names when they were looked up; they still mean the same while ``TypeTable/generation`` is
    /// equal.
    let generation: Int
    /// The type that the plan was made of.
    let form: CodableType.Form
    /// The question to a document's cache for the result of decoding a value. Where that is the value itself, the type
    /// also knows every part of it.
    let question = DocumentCache.newQuestion()
    /// The Swift type that the whole type is.
    let swiftRoot: SwiftType?

    init(_ tables: Tables, of form: CodableType.Form, root: Int, generation: Int) {
        self.form = form
        view = View(tables)
        (scalars, enumerationTypes) = (tables.scalars, tables.enumerationTypes)
        (swiftTypes, defaults) = (tables.swiftTypes, tables.defaults)
        (structureTypes, variantTypes) = (tables.structureTypes, tables.variantTypes)
        lengths = tables.lengths
        self.root = root
        self.generation = generation
        let isSwift = tables.nodes[root].shape == .swift && !tables.nodes[root].isOptional
        swiftRoot = isSwift ? tables.swiftTypes[Int(tables.nodes[root].operand)] : nil
    }

    deinit { view.deallocate() }

    /// A copy in memory of its own, which has an address even where it is empty.
    fileprivate static func table<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafePointer<Element> {
        let memory = UnsafeMutablePointer<Element>.allocate(capacity: max(elements.count, 1))
        _ = UnsafeMutableBufferPointer(start: memory, count: elements.count).initialize(fromContentsOf: elements)
        return UnsafePointer(memory)
    }

    /// Whether the result of decoding depends on the stored value alone: no code of a program runs.
    var isPure: Bool { swiftTypes.isEmpty }
}

/// The parts of a type, with its plan, made when it is first needed. Safe to use from several threads.
final class TypePlanCache: Sendable {
    let form: CodableType.Form
    let table: TypeTable?
    /// The latest plan. Guarded by ``Lock/shared``.
    private nonisolated(unsafe) var latest: TypePlan?

    init(_ form: CodableType.Form, in table: TypeTable?) {
        self.form = form
        self.table = table
    }

    private var generation: Int { table?.generation ?? 0 }

    /// The latest plan, where it is still the right one.
    var current: TypePlan? {
        let plan = Lock.shared.withLock { latest }
        return plan?.generation == generation ? plan : nil
    }

    /// The type's plan.
    ///
    /// - Throws: the error of a name that no type has.
    func plan() throws(TypeError) -> TypePlan {
        if let current { return current }
        let plan = try TypePlanCompiler.plan(of: form, generation: generation)
        // The old plan is released after the lock.
        _ = Lock.shared.withLock {
            defer { latest = plan }
            return latest
        }
        return plan
    }
}

extension TypePlan.Node {
    /// The kind whose every value is of the type; nil where it takes more than the kind to tell.
    var plainKind: PropertyListKind? {
        guard !isLimited else { return nil }
        switch shape {
        // One of the strings stands for nil.
        case .string where !isOptional: return .string
        case .real: return .real
        case .boolean: return .boolean
        case .date: return .date
        case .integer where low == .min && high == .max: return .integer
        default: return nil
        }
    }
}

extension TypePlan.View {
    /// Whether a key node of a document is the text.
    func isKey(_ key: kv_node, _ part: TypePlan.Text, _ document: Document) -> Bool {
        Int32(truncatingIfNeeded: key.count) == part.count && compareBytes(document.buffer(of: key), bytes(part)) == 0
    }

    func text(_ part: TypePlan.Text) -> String { String(decoding: bytes(part), as: UTF8.self) }

    func text(_ name: kv_node) -> String { String(decoding: bytes(name), as: UTF8.self) }

    /// Whether an enum has a case with the raw text.
    func hasRawText(_ raw: UnsafeBufferPointer<UInt8>, _ type: TypePlan.Node) -> Bool {
        let range = enumerations[Int(type.operand)]
        return search(range) { compareBytes(bytes(rawTexts[$0]), raw) } != nil
    }

    /// Whether an enum has a case with the raw number.
    func hasRawInteger(_ node: kv_node, _ type: TypePlan.Node) -> Bool {
        let number = Int64(bitPattern: node.payload)
        let range = enumerations[Int(type.operand)]
        return search(range) { rawIntegers[$0] < number ? -1 : rawIntegers[$0] > number ? 1 : 0 } != nil
    }

    /// The struct of a case's associated values; nil where the enum has no case of the name.
    func structure(ofCase name: UnsafeBufferPointer<UInt8>, _ type: TypePlan.Node) -> Int? {
        let found = search(variants[Int(type.operand)]) { compareBytes(bytes(cases[$0].key), name) }
        return found.map { Int(cases[$0].structure) }
    }

    private func search(_ range: TypePlan.Range, _ order: (Int) -> Int) -> Int? {
        var (low, high) = (range.first, range.first + range.count)
        while low < high {
            let middle = low + (high - low) / 2
            let found = order(middle)
            if found == 0 { return middle }
            if found < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }
}

extension TypePlan {
    /// The form of a scalar or a raw value, by its type's own rules.
    func form(of value: PropertyList, _ type: Node) throws(TypeError) -> ScalarForm {
        switch type.shape {
        case .strings, .integers: try enumerationTypes[Int(type.operand)].form(of: value)
        default: try scalars[Int(type.operand)].form(of: value)
        }
    }

    /// Checks how many elements an array has.
    func checkLength(_ count: Int, _ type: Node) throws(TypeError) {
        if type.length >= 0 { try CodableTypes.checkLength(count, lengths[Int(type.length)], "elements") }
    }
}

extension Document {
    /// The text of a string or key node.
    func text(of node: kv_node) -> String { String(decoding: buffer(of: node), as: UTF8.self) }

    /// Whether the value stands for nil: null in memory, `"$null"` in files.
    func isNil(_ index: Int) -> Bool {
        let node = nodes[index]
        if node.kind == .null { return true }
        return node.kind == .string && node.count == 5 && buffer(of: node).elementsEqual("$null".utf8)
    }
}

extension PropertyList {
    /// Whether the value stands for nil: null in memory, `"$null"` in files.
    var isNil: Bool { document.isNil(index) }
}
