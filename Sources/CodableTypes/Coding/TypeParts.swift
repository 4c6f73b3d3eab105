package import PropertyLists

/// The parts of the type of a store's dictionary, by the paths of stored keys: their types, and their defaults where
/// nothing is stored.
///
/// `@unchecked Sendable`: the parts that were asked for before are guarded by ``Lock/shared``, and are released outside
/// of it.
package final class TypeParts: @unchecked Sendable {
    /// A part's type, with its plans, and its default in stored form.
    package struct Part: Sendable {
        package let type: CodableType
        package let defaultValue: PropertyList?
        /// Kept alive, so that no other struct gets its address.
        fileprivate let owner: StructureType?

        /// Whether the part is a field of a struct.
        package var isField: Bool { owner != nil }
    }

    /// The location of a part: a struct's field, and so many arrays and dictionaries further in.
    private struct Location: Hashable {
        var owner: ObjectIdentifier?
        var number = 0
        var depth = 0
    }

    /// More than the types of a program have: where scripts declare types again and again, the parts of old ones go.
    private static let most = 1 << 16

    package let type: CodableType
    package let facts: Facts
    private var known: [Location: Part] = [:]

    /// - Throws: ``TypeError`` for a type that is no struct and no dictionary.
    package init(of type: CodableType) throws(TypeError) {
        self.type = type
        var facts = Facts()
        facts.note(type.form)
        self.facts = facts
        guard type.form.structure != nil || type.form.isDictionary else {
            throw TypeError(
                .description, .expected("a struct or a dictionary as a store's schema", found: "\(type.form)"))
        }
    }

    /// The part at a path; nil where the type says nothing of it.
    package func part(at path: PropertyListPath) -> Part? {
        var part = TypePart(form: type.form)
        var location = Location()
        for step in path.steps {
            guard let inner = part.form.part(at: step) else { return nil }
            part = inner
            location.depth += 1
            if let owner = inner.owner { location = Location(owner: ObjectIdentifier(owner), number: inner.number) }
        }
        return known(part, location)
    }

    private func known(_ part: TypePart, _ location: Location) -> Part {
        if let found = Lock.shared.withLock({ known[location] }) { return found }
        let made = Part(
            type: CodableType(part.form, in: type.table), defaultValue: try? storedDefault(of: part), owner: part.owner)
        // Old parts are released after the lock. Keeping some would copy the table for each new part.
        var old: [Location: Part] = [:]
        _ = Lock.shared.withLock {
            if known.count >= Self.most { swap(&old, &known) }
            return known.updateValue(made, forKey: location)
        }
        return made
    }

    // MARK: - Defaults

    /// The stored form of a field's default; nil for a part without one.
    private func storedDefault(of part: TypePart) throws(TypeError) -> PropertyList? {
        guard let value = part.field?.defaultValue else { return nil }
        return try CodableType(part.form, in: type.table).encode(value).list.compacted()
    }

    /// The values of top-level keys that a store need not have, in stored form: the fields' defaults, and for a field
    /// that is a struct, all of whose fields may be absent, a dictionary without them.
    package func defaults() throws(TypeError) -> PropertyList {
        guard let structure = type.form.structure else { return .emptyDictionary }
        var made: [ObjectIdentifier: PropertyList?] = [:]
        return try dictionary(of: structure) { (field, part) throws(TypeError) -> PropertyList? in
            if let value = try storedDefault(of: part) { return value }
            return try empty(field.type, 0, &made)
        }
    }

    /// The dictionary of the values that `value` gives for a struct's stored fields.
    private func dictionary(
        of structure: StructureType, _ value: (StructureType.Field, TypePart) throws(TypeError) -> PropertyList?
    ) throws(TypeError) -> PropertyList {
        var builder = PropertyListBuilder()
        try builder.adding { builder throws(PropertyListError) in try builder.beginDictionary() }
        for (number, (field, _, _)) in structure.stored.enumerated() {
            let part = TypePart(form: field.type, owner: structure, number: number)
            guard let value = try value(field, part) else { continue }
            try builder.adding { builder throws(PropertyListError) in
                try builder.key(field.key)
                try builder.append(value)
            }
            guard builder.nodes.count < TypeLimits.addedNodes, builder.bytes.count < TypeLimits.addedBytes else {
                throw .tooLarge(type.form)
            }
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
        return try finish(&builder)
    }

    /// The smallest dictionary that is a value of a struct; nil for another type, and for a struct with fields that
    /// must be there.
    ///
    /// - Parameter made: those of the structs that were met: one may occur many times in others.
    private func empty(
        _ form: CodableType.Form, _ depth: Int, _ made: inout [ObjectIdentifier: PropertyList?]
    ) throws(TypeError) -> PropertyList? {
        guard !form.isOptional, depth < TypeLimits.depth, let structure = form.structure else { return nil }
        if let known = made[ObjectIdentifier(structure)] { return known }
        var isWhole = true
        let result = try dictionary(of: structure) { (field, _) throws(TypeError) -> PropertyList? in
            guard isWhole, !field.mayBeAbsent else { return nil }
            let value = try empty(field.type, depth + 1, &made)
            if value == nil { isWhole = false }
            return value
        }
        made.updateValue(isWhole ? result : nil, forKey: ObjectIdentifier(structure))
        return isWhole ? result : nil
    }

    /// The value that defaults give at a path into `top`, the value of the path's first key, where nothing is stored
    /// there; nil where they give none, as below an absent value that has no default.
    package func missing(at path: PropertyListPath, in top: PropertyList) -> PropertyList? {
        var value = top
        let first = PropertyListPath(Array(path.steps.prefix(1)))
        // A case of an enum shows nothing of another one.
        var defaults = part(at: first)?.type.isVariant == true ? nil : defaults(at: first)
        for end in path.steps.indices.dropFirst() {
            let location = PropertyListPath(Array(path.steps[...end]))
            guard let part = part(at: location) else { return nil }
            defaults = Self.merged(defaults.flatMap { $0.value(at: [path.steps[end]]) }, part)
            let stored = value.value(at: [path.steps[end]])
            let isThere = stored.map { !(part.type.form.isOptional && $0.isNil) } ?? false
            guard let next = isThere || value.kind != .dictionary ? stored : defaults else { return nil }
            if isThere, part.type.isVariant { defaults = nil }
            value = next
        }
        return value
    }

    /// The default of the value at a path: what the defaults of values around it say, over its own.
    private func defaults(at path: PropertyListPath) -> PropertyList? {
        var result: PropertyList?
        for end in path.steps.indices {
            guard let part = part(at: PropertyListPath(Array(path.steps[...end]))) else { return nil }
            result = Self.merged(result.flatMap { $0.value(at: [path.steps[end]]) }, part)
        }
        return result
    }

    /// The default of a part, below what a default around it says.
    private static func merged(_ outer: PropertyList?, _ part: Part) -> PropertyList? {
        guard let outer else { return part.defaultValue }
        return over(outer, part.type.isVariant ? nil : part.defaultValue)
    }

    /// A stored value with the defaults of all that is not in it, at every depth, in stored form.
    ///
    /// - Parameter path: the path of the value.
    package func filled(_ stored: PropertyList, at path: PropertyListPath) throws(TypeError) -> PropertyList {
        guard stored.kind.isContainer, let part = part(at: path), part.type.form.holdsFields else { return stored }
        var builder = PropertyListBuilder()
        let room = stored.node.span &+ TypeLimits.addedNodes
        try fill(stored, part.type.form, facts.hasDeepDefaults ? defaults(at: path) : nil, room, into: &builder)
        return try finish(&builder)
    }

    /// Recursion is bounded by the depth of the builder's document.
    ///
    /// - Parameter defaults: the default of the value; of arrays and variants it is of no meaning.
    private func fill(
        _ value: PropertyList, _ form: CodableType.Form, _ defaults: PropertyList?, _ room: Int,
        into builder: inout PropertyListBuilder
    ) throws(TypeError) {
        guard builder.nodes.count < room, builder.bytes.count < PropertyListLimits.length / 2 else {
            throw .tooLarge(type.form)
        }
        switch value.kind {
        case .array:
            try builder.adding { builder throws(PropertyListError) in try builder.beginArray() }
            for (index, element) in value.elements.enumerated() {
                try fill(element, form.part(at: .index(index))?.form ?? .any, nil, room, into: &builder)
            }
            try builder.adding { builder throws(PropertyListError) in try builder.end() }
        case .dictionary:
            try fillEntries(value, form, form.isVariant ? nil : defaults, room, into: &builder)
        default: try builder.add(value)
        }
    }

    private func fillEntries(
        _ value: PropertyList, _ form: CodableType.Form, _ defaults: PropertyList?, _ room: Int,
        into builder: inout PropertyListBuilder
    ) throws(TypeError) {
        let structure = form.structure
        // By steps: texts would take keys that print alike for one.
        var given: [PropertyListPath.Step: PropertyList] = [:]
        for (number, (field, _, _)) in (structure?.stored ?? []).enumerated() where field.defaultValue != nil {
            let part = TypePart(form: field.type, owner: structure, number: number)
            let location = Location(owner: structure.map { ObjectIdentifier($0) }, number: number)
            given[.key(field.key)] = known(part, location).defaultValue
        }
        if let defaults, defaults.kind == .dictionary {
            for (key, value) in defaults.entries {
                let part = form.part(at: .key(key))
                let isWhole = part?.form.isVariant ?? false
                given[.key(key)] = Self.over(value, isWhole ? nil : given[.key(key)])
            }
        }
        try builder.adding { builder throws(PropertyListError) in try builder.beginDictionary() }
        for (key, value) in value.entries {
            let part = form.part(at: .key(key))
            if let part, part.form.isOptional, value.isNil { continue }
            try builder.adding { builder throws(PropertyListError) in try builder.key(key) }
            let below = facts.hasDeepDefaults ? given[.key(key)] : nil
            try fill(value, part?.form ?? .any, below, room, into: &builder)
        }
        for (step, inner) in given {
            guard case .key(let key) = step else { continue }
            let part = form.part(at: .key(key))
            if let stored = value[key], !(part?.form.isOptional == true && stored.isNil) { continue }
            try builder.adding { builder throws(PropertyListError) in try builder.key(key) }
            try fill(inner, part?.form ?? .any, nil, room, into: &builder)
        }
        try builder.adding { builder throws(PropertyListError) in try builder.end() }
    }

    /// One default over another.
    private static func over(_ upper: PropertyList, _ lower: PropertyList?) -> PropertyList {
        guard let lower else { return upper }
        var value = LayeredValue()
        value.add(upper, [])
        value.add(lower, [])
        return (try? value.merged(at: [], isWhole: nil)) ?? upper
    }
}

extension CodableType.Form {
    fileprivate var isDictionary: Bool {
        switch self {
        case .defaulted(let wrapped, _), .optional(let wrapped): wrapped.isDictionary
        case .reference(let reference): (try? reference.resolved())?.isDictionary ?? false
        case .dictionary: true
        default: false
        }
    }

    /// Whether a value may have structs in it.
    fileprivate var holdsFields: Bool {
        switch self {
        case .scalar, .any, .enumeration, .swift: false
        case .array(let part, _), .dictionary(let part), .optional(let part), .defaulted(let part, _): part.holdsFields
        case .structure, .variant, .reference: true
        }
    }
}

extension TypeParts {
    /// What is anywhere in a type.
    package struct Facts: Sendable {
        /// Whether a field has a dictionary with entries as its default: a stored part of one shows the rest of it.
        package private(set) var hasDeepDefaults = false
        /// Whether there is an enum with associated values.
        package private(set) var hasVariants = false
        private var seen: Set<ObjectIdentifier> = []

        /// Looks at each struct once.
        fileprivate mutating func note(_ form: CodableType.Form) {
            switch form {
            case .scalar, .any, .enumeration, .swift: break
            case .array(let part, _), .dictionary(let part), .optional(let part), .defaulted(let part, _): note(part)
            case .reference(let reference):
                if let form = try? reference.resolved() { note(form) }
            case .variant(let variant):
                hasVariants = true
                for one in variant.cases { note(one.values) }
            case .structure(let structure): note(structure)
            }
        }

        private mutating func note(_ structure: StructureType) {
            guard seen.insert(ObjectIdentifier(structure)).inserted else { return }
            for field in structure.fields {
                if let value = field.defaultValue, value.kind == .dictionary, value.count > 0 { hasDeepDefaults = true }
                note(field.type)
            }
        }
    }
}
