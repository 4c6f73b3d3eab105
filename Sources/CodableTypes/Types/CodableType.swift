public import PropertyLists

/// A type that values are checked against: a built-in one, `[T]`, `[String: T]`, `T?`, or a declared struct or enum.
///
/// A value has two forms. The stored form is the file's. The program form is that of programs and scripts: a
/// struct's fields instead of keys, defaults filled in, unknown keys left out. ``decode(_:at:)`` goes from the one to
/// the other, ``encode(_:over:at:options:)`` back.
///
/// ```swift
/// let types = try TypeRegistry().declare("struct Window { width: Int = 640; title: String? @key(window_title) }")
/// let value = try types[0].decode(stored)  // { width = 640 }, and title where stored has a window_title
/// let encoded = try types[0].encode(value, over: stored)
/// print(encoded.list == stored)  // true: unknown keys are kept, and defaults are not written
/// ```
///
/// Types are immutable and safe to use from several threads at once. Equal types mean the same; a recursive struct
/// refers to itself by name.
public struct CodableType: Sendable, Equatable {
    let plans: TypePlanCache
    var form: Form { plans.form }
    /// Keeps the types alive that names inside this one refer to; only on types that a registry gave.
    var table: TypeTable? { plans.table }

    init(_ form: Form, in table: TypeTable? = nil) { plans = TypePlanCache(form, in: table) }

    indirect enum Form: Sendable, Equatable {
        case scalar(ScalarType)
        /// Every value that a file can hold.
        case any
        case array(Form, length: TypeBounds<Int>?)
        case dictionary(Form)
        case optional(Form)
        /// A type with a value for an absent one.
        case defaulted(Form, PropertyList)
        case structure(StructureType)
        /// An enum with raw values.
        case enumeration(EnumerationType)
        /// An enum with associated values.
        case variant(VariantType)
        /// A registered Swift type, whose own code decodes and encodes its values.
        case swift(SwiftType)
        /// A declared type, by name: so a struct contains itself.
        case reference(TypeReference)

        /// A name and the struct of that name are equal: the order of declarations decides which of the two is used.
        static func == (left: Form, right: Form) -> Bool { FormComparison.areEqual(left, right) }
    }

    public static func == (left: CodableType, right: CodableType) -> Bool { left.form == right.form }

    /// The value where none is stored; nil for a type without a default.
    public var defaultValue: PropertyList? {
        guard case .defaulted(_, let value) = form else { return nil }
        return value
    }
}

extension CodableType {
    /// Whether the type takes a keyed archive for a value of its own: Data and Any do.
    package var takesArchives: Bool { form.takesArchives }
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
        case .variant(let variant): variant.name
        case .swift(let type): type.name
        case .reference(let reference): reference.name
        }
    }
}
