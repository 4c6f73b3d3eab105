public import PropertyLists

/// A type that values are checked against: a built-in one, `[T]`, `[String: T]`, `T?`, or a declared struct or enum.
///
/// A value has two forms. The stored form is what the file holds. The program form is what programs and scripts see:
/// a struct's fields instead of keys, defaults filled in, unknown keys left out. ``decode(_:at:)`` goes from the one to
/// the other, ``encode(_:over:at:options:)`` back.
///
/// Types are immutable and safe to use from several threads at once. Equal types mean the same; a recursive struct
/// refers to itself by name.
public struct CodableType: Sendable, Equatable {
    let form: Form
    /// Keeps alive what names inside the type refer to; only on types that a registry gave.
    let table: TypeTable?
    private let plans = TypePlanCache()

    init(_ form: Form, in table: TypeTable? = nil) {
        self.form = form
        self.table = table
    }

    private var plan: TypePlan? { plans.plan(of: form, in: table) }

    indirect enum Form: Sendable, Equatable {
        case scalar(ScalarType)
        /// Every value that a file can hold.
        case any
        case array(Form, length: ClosedRange<Int>?)
        case dictionary(Form)
        case optional(Form)
        /// A type with a value for what is absent.
        case defaulted(Form, PropertyList)
        case structure(StructureType)
        case enumeration(EnumerationType)
        /// A registered Swift type, whose own code decodes and encodes its values.
        case swift(SwiftType)
        /// A declared type, by name: how a struct contains itself.
        case reference(TypeReference)

        /// A name and the struct of that name are equal: which of the two stands in a declaration depends on the order.
        static func == (left: Form, right: Form) -> Bool { FormComparison.areEqual(left, right) }
    }

    public static func == (left: CodableType, right: CodableType) -> Bool { left.form == right.form }

    /// What a value is where nothing is stored; nil for a type without a default.
    public var defaultValue: PropertyList? {
        guard case .defaulted(_, let value) = form else { return nil }
        return value
    }
}

extension CodableType {
    /// Whether the type takes a keyed archive for a value of its own: Data and Any do.
    public var takesArchives: Bool { form.takesArchives }
}

extension CodableType.Form {
    fileprivate var takesArchives: Bool {
        switch self {
        case .any: true
        case .scalar(let scalar): scalar.kind == .data
        case .optional(let wrapped), .defaulted(let wrapped, _): wrapped.takesArchives
        default: false
        }
    }
}

extension CodableType: CustomStringConvertible {
    /// The type as an expression of the type language; a declared type by its name.
    public var description: String { form.description }
}

extension CodableType.Form: CustomStringConvertible {
    var description: String {
        switch self {
        case .scalar(let scalar): scalar.description
        case .any: "Any"
        case .array(let element, let length): "[\(element)]" + (length.map { "(\($0))" } ?? "")
        case .dictionary(let value): "[String: \(value)]"
        case .optional(let wrapped): "\(wrapped)?"
        case .defaulted(let wrapped, _): wrapped.description
        case .structure(let structure): structure.name
        case .enumeration(let enumeration): enumeration.name
        case .swift(let type): type.name
        case .reference(let reference): reference.name
        }
    }
}

extension CodableType {
    /// The program form of a stored value: checked, keys renamed to fields, defaults filled in, unknown keys left out,
    /// numbers in the kind of the type. The value itself where its two forms are the same.
    ///
    /// - Parameters:
    ///   - stored: the value in stored form.
    ///   - path: where the value stands, for errors.
    /// - Throws: ``TypeError`` with the path of the first value that is not of the type.
    public func decode(_ stored: PropertyList, at path: PropertyListPath = []) throws(TypeError) -> PropertyList {
        if let plan, Conformance.isUnchanged(stored, plan, .decoding) { return stored }
        do throws(TypeError) {
            try TypeLimits.check(stored)
            return try Decoding(document: stored.document).decode(stored, as: form)
        } catch {
            throw error.placed(below: path)
        }
    }

    /// How a typed value is stored.
    public struct EncodeOptions: Sendable, Hashable {
        /// Whether what the type does not know of the stored value goes.
        public var replaces: Bool

        public init(replaces: Bool = false) {
            self.replaces = replaces
        }
    }

    /// A value to store.
    public struct Encoded: Sendable, Equatable {
        public var list: PropertyList
        /// Stored elements of arrays that held unknown keys and could not be matched with a new element: their unknown
        /// keys are lost.
        public var droppedElements: Int
    }

    /// The stored form of a value in program form.
    ///
    /// What the type does not know of the value that is stored now is kept, through structs, arrays and dictionaries. A
    /// field with its default value is written only where the stored value has its key.
    ///
    /// - Parameters:
    ///   - value: the value in program form.
    ///   - stored: the value that is stored now, in stored form; nil for none.
    ///   - path: where the value stands, for errors.
    ///   - options: whether what the type does not know goes.
    /// - Throws: ``TypeError`` with the path of the first value that is not of the type, or of a field that the type
    ///   does not declare.
    public func encode(
        _ value: PropertyList, over stored: PropertyList? = nil, at path: PropertyListPath = [],
        options: EncodeOptions = EncodeOptions()
    ) throws(TypeError) -> Encoded {
        let plan = plan
        var stored = options.replaces ? nil : stored
        // What is stored matters only where it holds something unknown, or decides whether a default is written.
        if let known = stored, let plan, plan.tables.defaults.isEmpty, Conformance.isKnown(known, plan) { stored = nil }
        if let plan, isReady(value, plan, over: stored) { return Encoded(list: value, droppedElements: 0) }
        do throws(TypeError) {
            try TypeLimits.check(value)
            if let stored { try TypeLimits.check(stored) }
            var encoding = Encoding()
            let list = try encoding.encode(value, over: stored, as: form)
            return Encoded(list: list, droppedElements: encoding.droppedElements)
        } catch {
            throw error.placed(below: path)
        }
    }

    /// Whether the value is its own stored form, and nothing of what is stored now has to be kept.
    private func isReady(_ value: PropertyList, _ plan: TypePlan, over stored: PropertyList?) -> Bool {
        Conformance.isUnchanged(value, plan, .encoding(over: stored))
            && stored.map { Conformance.isKnown($0, plan) } ?? true
    }
}
