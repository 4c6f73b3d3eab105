/// A form that we read and Foundation does not, in Foundation's own form: what both make of that must be the same.
///
/// There are just two. A superclass's part that is not under "super" is read from the dictionary itself, as the
/// reference writes it. And a dictionary is read where keys are of an enum, a number or the like, where Foundation
/// wants the flat array of keys and values.
struct OtherReading {
    let form: Form
    /// Where an error of Foundation's about its form is in ours.
    let translated: (Fault) -> Fault

    /// - Parameter theirs: Foundation's error, which names the one value that needs its own form.
    init?(of form: Form, _ theirs: Fault) {
        if theirs.kind == .valueNotFound, theirs.path.last == "super" {
            self.init(flatSuper: form, Array(theirs.path.dropLast()))
        } else if theirs.kind == .typeMismatch, let field = theirs.path.last(where: { $0.hasPrefix("by") }),
            theirs.path.last == field
        {
            self.init(dictionary: form, theirs.path, spellsNumbers: ["byRank", "byReal"].contains(field))
        } else {
            return nil
        }
    }

    private init?(flatSuper form: Form, _ path: [String]) {
        guard case .dictionary(var entries)? = form.value(at: path[...]), entries["super"] == nil else { return nil }
        entries["super"] = .dictionary(entries)
        self.form = form.replacing(path[...], with: .dictionary(entries))
        translated = { fault in
            guard fault.path.starts(with: path + ["super"]) else { return fault }
            var fault = fault
            fault.path.remove(at: path.count)
            return fault
        }
    }

    private init?(dictionary form: Form, _ path: [String], spellsNumbers: Bool) {
        guard case .dictionary(let entries)? = form.value(at: path[...]) else { return nil }
        let keys = entries.keys.sorted()
        let flat = keys.flatMap { key -> [Form] in
            let number = spellsNumbers ? Int128(key).map { Form.integer($0) } : nil
            return [number ?? .string(key), entries[key] ?? .null]
        }
        self.form = form.replacing(path[...], with: .array(flat))
        translated = { fault in
            let rest = fault.path.dropFirst(path.count)
            guard fault.path.starts(with: path), let step = rest.first, step.hasPrefix("["),
                let index = Int(step.dropFirst().dropLast()), keys.indices.contains(index / 2)
            else { return fault }
            var fault = fault
            fault.path = path + [keys[index / 2]] + rest.dropFirst()
            // What is no key is told as such, whatever its text is not.
            if index.isMultiple(of: 2) { fault.kind = .dataCorrupted }
            return fault
        }
    }
}

extension Form {
    func value(at path: ArraySlice<String>) -> Form? {
        guard let step = path.first else { return self }
        switch self {
        case .dictionary(let entries): return entries[step]?.value(at: path.dropFirst())
        case .array(let elements):
            guard let index = Int(step.dropFirst().dropLast()), elements.indices.contains(index) else { return nil }
            return elements[index].value(at: path.dropFirst())
        default: return nil
        }
    }

    func replacing(_ path: ArraySlice<String>, with form: Form) -> Form {
        guard let step = path.first else { return form }
        switch self {
        case .dictionary(var entries):
            entries[step] = entries[step]?.replacing(path.dropFirst(), with: form)
            return .dictionary(entries)
        case .array(var elements):
            guard let index = Int(step.dropFirst().dropLast()), elements.indices.contains(index) else { return self }
            elements[index] = elements[index].replacing(path.dropFirst(), with: form)
            return .array(elements)
        default: return self
        }
    }
}

extension Peer {
    /// Whether what we make of a form is what Foundation makes of it, or of the same in its own form, or differs in one
    /// of the named ways.
    static func isAlike<T: Decodable & Equatable>(
        _ ours: Result<T, any Error>, of form: Form, _ translated: (Fault) -> Fault = { $0 }, forms: Int = 4
    ) -> Bool {
        switch (Result { try read(T.self, from: form) }, ours) {
        case (.success(let theirs), .success(let ours)): return theirs == ours
        case (.success, .failure): return false
        case (.failure(let error), _):
            let theirs = Fault(error)
            if case .failure(let ours) = ours {
                let (first, second) = (translated(theirs), Fault(ours))
                if first == second || Difference(first, second) != nil { return true }
            }
            guard forms > 0, let other = OtherReading(of: form, theirs) else { return false }
            return isAlike(ours, of: other.form, { translated(other.translated($0)) }, forms: forms - 1)
        }
    }
}
