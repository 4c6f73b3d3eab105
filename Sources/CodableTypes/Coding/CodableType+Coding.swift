public import PropertyLists

extension CodableType {
    /// The program form of a stored value: checked, keys renamed to fields, defaults filled in, unknown keys left out,
    /// numbers in the kind of the type. The value itself where its two forms are the same.
    ///
    /// The result is remembered with the value's document, where there is room for it: the same value is checked
    /// against the same type once, and a value just encoded is not decoded again.
    ///
    /// - Parameters:
    ///   - stored: the value in stored form.
    ///   - path: where the value stands, for errors.
    /// - Throws: ``TypeError`` with the path of the first value that is not of the type;
    ///   ``TypeError/Code/limitExceeded`` where names and defaults add more than 1,048,576 nodes, or 64 MB of strings,
    ///   keys and data, to it.
    public func decode(_ stored: PropertyList, at path: PropertyListPath = []) throws(TypeError) -> PropertyList {
        do throws(TypeError) {
            return try decode(stored, try plans.plan())
        } catch {
            throw error.placed(below: path)
        }
    }

    /// The result of ``decode(_:at:)`` if it was noted before, or if the value's node alone shows it; nil otherwise.
    package func knownProgramForm(_ stored: PropertyList) -> PropertyList? {
        guard let plan = plans.current else { return nil }
        let root = plan.view.nodes[plan.root]
        return root.isPlainly(stored.node) ? stored : stored.notedProgramForm(plan)
    }

    private func decode(_ stored: PropertyList, _ plan: TypePlan) throws(TypeError) -> PropertyList {
        if let type = plan.swiftRoot { return try type.decode(stored) }
        if plan.isPure, let list = stored.notedProgramForm(plan) { return list }
        let decoded = try PlanDecoding.decoded(stored, plan, as: plan.root)
        if decoded.isUnchanged {
            plan.noteUnchanged(stored)
        } else if plan.isPure {
            stored.noteProgramForm(decoded.list, plan)
        }
        return decoded.list
    }

    /// Options for storing a typed value.
    ///
    /// ```swift
    /// let type = try TypeRegistry().type("[String: Int]")
    /// let options = CodableType.EncodeOptions(replaces: true)
    /// let list = try type.encode(stored, over: stored, options: options).list
    /// ```
    public struct EncodeOptions: Sendable, Equatable {
        /// Whether the parts of the stored value that the type does not know are dropped.
        public var replaces: Bool
        /// The value that the program had before it made its changes, in program form: what differs from it is stored.
        /// nil stores all that is given, and removes a field that is left out.
        public var ancestor: PropertyList?

        /// Options by which unknown parts are kept, unless `replaces` is true.
        public init(replaces: Bool = false, ancestor: PropertyList? = nil) {
            self.replaces = replaces
            self.ancestor = ancestor
        }
    }

    /// The result of encoding: a value to store.
    ///
    /// ```swift
    /// let encoded = try TypeRegistry().type("[Int]?").encode(stored, over: nil)
    /// print(encoded.list.count, encoded.droppedElements)
    /// ```
    public struct Encoded: Sendable, Equatable {
        /// The stored form, with the unknown parts of the old value that were kept.
        public var list: PropertyList
        /// The number of elements of stored arrays that are gone with keys that the type does not know.
        public var droppedElements: Int
    }

    /// The stored form of a value in program form.
    ///
    /// Merges the value with the stored one: keys that the type does not know are kept, through structs, enums with
    /// associated values, arrays and dictionaries. A given field is written, also one that has its default value.
    ///
    /// - Parameters:
    ///   - value: the value in program form.
    ///   - stored: the value that is stored now, in stored form; nil for none.
    ///   - path: where the value stands, for errors.
    ///   - options: the value that the program had, and whether parts that the type does not know are dropped.
    /// - Throws: ``TypeError`` with the path of the first value that is not of the type, or of a field that the type
    ///   does not declare; ``TypeError/Code/limitExceeded`` where the fields' keys add more than ``decode(_:at:)``
    ///   allows.
    public func encode(
        _ value: PropertyList, over stored: PropertyList? = nil, at path: PropertyListPath = [],
        options: EncodeOptions = EncodeOptions()
    ) throws(TypeError) -> Encoded {
        do throws(TypeError) {
            let plan = try plans.plan()
            let new = try encode(value, plan)
            guard let stored, !options.replaces else { return Encoded(list: new, droppedElements: 0) }
            return try merge(
                new, with: stored, from: try options.ancestor.map { had throws(TypeError) in try encode(had, plan) },
                plan)
        } catch {
            throw error.placed(below: path)
        }
    }

    private func encode(_ value: PropertyList, _ plan: TypePlan) throws(TypeError) -> PropertyList {
        if let type = plan.swiftRoot { return try type.encode(value) }
        let encoded = try PlanEncoding.encoded(value, plan, as: plan.root)
        if plan.isPure { plan.note(encoded, of: value) }
        return encoded.list
    }

    /// - Parameter had: the stored form of the value that the program had.
    private func merge(
        _ new: PropertyList, with stored: PropertyList, from had: PropertyList?, _ plan: TypePlan
    ) throws(TypeError) -> Encoded {
        if had == nil, plan.knows(stored) { return Encoded(list: new, droppedElements: 0) }
        try TypeLimits.check(stored)
        let ancestor = if let had { had } else { try knownParts(of: stored) }
        do throws(PropertyListError) {
            let merged = try PropertyList.merge(
                ancestor: ancestor, ours: new, theirs: stored,
                rules: MergeRules(oursWins: true, isVariant: { isVariant(at: $0) }))
            let list = merged.value ?? new
            // Without an ancestor the new list has all that was given.
            if had == nil, plan.isPure, let form = new.notedProgramForm(plan) { list.noteProgramForm(form, plan) }
            return Encoded(list: list, droppedElements: merged.dropped)
        } catch {
            throw TypeError(error)
        }
    }
}

extension PropertyList {
    /// The noted result of decoding this value; nil where none was noted.
    func notedProgramForm(_ plan: TypePlan) -> PropertyList? {
        switch document.finding(plan.question, at: index) {
        case .holds: self
        case .becomes(let list): list
        case nil: nil
        }
    }

    /// Notes the result of decoding this value.
    fileprivate func noteProgramForm(_ list: PropertyList, _ plan: TypePlan) {
        document.note(.becomes(list), plan.question, at: index)
    }
}

extension TypePlan {
    /// Notes the result of encoding a value, with the value or with its stored form.
    fileprivate func note(_ encoded: PlanEncoding.Encoded, of value: PropertyList) {
        guard encoded.isExact else { return }
        if encoded.isUnchanged {
            noteUnchanged(value)
        } else if value.isWholeDocument {
            // A part of a document would keep all of it alive.
            encoded.list.noteProgramForm(value, self)
        }
    }

    /// Whether the stored value is already known to have no parts that the type does not know.
    fileprivate func knows(_ stored: PropertyList) -> Bool {
        guard view.nodes[root].keepsUnknown else { return true }
        if case .holds? = stored.document.finding(question, at: stored.index) { return true }
        return false
    }

    /// Notes that a value is its own program form.
    fileprivate func noteUnchanged(_ value: PropertyList) {
        // A scalar is checked as soon as it is looked up.
        if value.kind.isContainer { value.document.note(.holds, question, at: value.index) }
    }
}
