internal import PropertyLists

/// A type as flat tables, whose entries refer to one another by index: what values are checked by where speed counts.
///
/// Walking a document beside these tables takes no reference count, no look-up by name and no lock; a recursive struct
/// is an index that leads back. Immutable.
final class TypePlan: Sendable {
    /// A type: its shape, and where its parts are.
    struct Node: BitwiseCopyable, Sendable {
        enum Shape: UInt8, BitwiseCopyable, Sendable {
            case boolean, integer, real, string, data, date, uid, any
            case array, dictionary, structure, strings, integers
            /// Checked by the walk of ``Decoding`` and ``Encoding`` alone.
            case other
        }

        var shape: Shape
        var isOptional = false
        /// Whether a value of the type may hold keys that the type does not know.
        var keepsUnknown = false
        /// The element's or value's node; the index of the struct or the enum.
        var operand = 0
        /// The integers, or the lengths, that are allowed.
        var low = Int64.min
        var high = Int64.max
        /// The reals that are allowed; nan is only where nothing is said.
        var lowReal = -Double.infinity
        var highReal = Double.infinity
        var isLimited = false
    }

    struct Field: BitwiseCopyable, Sendable {
        var keyStart: Int32
        var keyCount: Int32
        var node: Int32
        var isOptional: Bool
        /// The index of the default; -1 for none.
        var defaultIndex: Int32
    }

    /// A struct's stored fields, sorted by the bytes of their keys.
    struct Structure: BitwiseCopyable, Sendable {
        var first = 0
        var count = 0
        /// Whether names and keys are the same, and nothing is transient.
        var isPlain = true
    }

    /// An enum's raw values: texts, or numbers.
    struct Enumeration: BitwiseCopyable, Sendable {
        var first: Int
        var count: Int
    }

    struct Text: BitwiseCopyable, Sendable {
        var start: Int
        var count: Int
    }

    struct Tables: Sendable {
        var nodes: [Node] = []
        var fields: [Field] = []
        var structures: [Structure] = []
        var enumerations: [Enumeration] = []
        var rawTexts: [Text] = []
        var rawIntegers: [Int64] = []
        var defaults: [PropertyList] = []
        var text: [UInt8] = []
    }

    let tables: Tables
    let root: Int
    /// The names that were looked up, as they were then; ``TypeTable/generation`` tells whether they still are.
    let generation: Int

    init(_ tables: Tables, root: Int, generation: Int) {
        self.tables = tables
        self.root = root
        self.generation = generation
    }
}

/// The plan of a type, made when it is first needed. Safe to use from several threads.
final class TypePlanCache: @unchecked Sendable {
    private let lock = TypeLock()
    private var plan: TypePlan?

    /// The plan of `form`; nil where a name in it means nothing yet.
    func plan(of form: CodableType.Form, in table: TypeTable?) -> TypePlan? {
        lock.withLock {
            let generation = table?.generation ?? 0
            if let plan, plan.generation == generation { return plan }
            plan = TypePlanCompiler.plan(of: form, generation: generation)
            return plan
        }
    }
}
