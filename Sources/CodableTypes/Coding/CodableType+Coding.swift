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
    public struct EncodeOptions: Sendable, Hashable {
        /// Whether the parts of the stored value that the type does not know are dropped.
        public var replaces: Bool

        /// Options by which unknown parts are kept, unless `replaces` is true.
        public init(replaces: Bool = false) {
            self.replaces = replaces
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
        /// Stored elements of arrays that held unknown keys and could not be matched with a new element: their unknown
        /// keys are lost.
        public var droppedElements: Int
    }

    /// The stored form of a value in program form.
    ///
    /// The parts of the stored value that the type does not know are kept, through structs, enums with associated
    /// values, arrays and dictionaries. A field with its default value is written only where the stored value has its
    /// key.
    ///
    /// - Parameters:
    ///   - value: the value in program form.
    ///   - stored: the value that is stored now, in stored form; nil for none.
    ///   - path: where the value stands, for errors.
    ///   - options: whether parts that the type does not know are dropped.
    /// - Throws: ``TypeError`` with the path of the first value that is not of the type, or of a field that the type
    ///   does not declare; ``TypeError/Code/limitExceeded`` where the fields' keys, and the defaults of stored keys,
    ///   add more than ``decode(_:at:)`` allows.
    public func encode(
        _ value: PropertyList, over stored: PropertyList? = nil, at path: PropertyListPath = [],
        options: EncodeOptions = EncodeOptions()
    ) throws(TypeError) -> Encoded {
        do throws(TypeError) {
            let plan = try plans.plan()
            return try encode(value, over: options.replaces ? nil : stored, plan)
        } catch {
            throw error.placed(below: path)
        }
    }

    private func encode(
        _ value: PropertyList, over stored: PropertyList?, _ plan: TypePlan
    ) throws(TypeError) -> Encoded {
        if let type = plan.swiftRoot { return try type.encode(value, over: stored) }
        // The stored value matters only where it may hold unknown parts, or decides whether a default is written.
        let old = stored.flatMap { plan.defaults.isEmpty && plan.knows($0) ? nil : $0 }
        if let old { try TypeLimits.check(old) }
        let encoded = try PlanEncoding.encoded(value, over: old, plan, as: plan.root)
        if plan.isPure { plan.note(encoded, of: value) }
        return Encoded(list: encoded.list, droppedElements: encoded.droppedElements)
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
