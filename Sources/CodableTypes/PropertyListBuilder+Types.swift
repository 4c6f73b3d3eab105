internal import PropertyLists

/// Building, with the tree's errors as this room's: a type can make a value too deep, and nothing else.
extension PropertyListBuilder {
    mutating func adding(_ body: (inout PropertyListBuilder) throws(PropertyListError) -> Void) throws(TypeError) {
        do throws(PropertyListError) {
            try body(&self)
        } catch {
            throw TypeError(.mismatch, error.message).placed(below: error.path)
        }
    }

    private mutating func add(_ parts: [ScalarForm], of array: PropertyList) throws(TypeError) {
        try adding { builder throws(PropertyListError) in try builder.beginArray() }
        for (part, element) in zip(parts, array.elements) { try add(part, of: element) }
        try adding { builder throws(PropertyListError) in try builder.end() }
    }

    mutating func add(key: UnsafeBufferPointer<UInt8>) throws(TypeError) {
        try adding { builder throws(PropertyListError) in try builder.append(validKey: UnsafeRawBufferPointer(key)) }
    }

    /// Appends a value in the form that its type found for it.
    mutating func add(_ form: ScalarForm, of value: PropertyList) throws(TypeError) {
        if case .parts(let parts, let array) = form { return try add(parts, of: array) }
        try adding { builder throws(PropertyListError) in
            switch form {
            case .same: try builder.append(value)
            case .integer(let number): try builder.append(integer: number)
            case .unsigned(let number): try builder.append(unsigned: number)
            case .real(let number): try builder.append(real: number)
            case .string(let text): try builder.append(string: text)
            case .parts: break
            }
        }
    }
}

func finish(_ builder: inout PropertyListBuilder) throws(TypeError) -> PropertyList {
    do throws(PropertyListError) {
        return try builder.finish()
    } catch {
        throw TypeError(.mismatch, error.message).placed(below: error.path)
    }
}
