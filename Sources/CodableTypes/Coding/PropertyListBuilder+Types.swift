internal import PropertyLists

/// Building, with the tree's errors as this room's: a type can make a value too deep, and nothing else.
extension PropertyListBuilder {
    mutating func adding(_ body: (inout PropertyListBuilder) throws(PropertyListError) -> Void) throws(TypeError) {
        do throws(PropertyListError) {
            try body(&self)
        } catch {
            throw TypeError(.mismatch, ErrorWords(fault: error.message)).placed(below: error.path)
        }
    }

    /// Appends a copy of a value.
    mutating func add(_ value: PropertyList) throws(TypeError) {
        try adding { builder throws(PropertyListError) in try builder.append(value) }
    }
}

func finish(_ builder: inout PropertyListBuilder) throws(TypeError) -> PropertyList {
    do throws(PropertyListError) {
        return try builder.finish()
    } catch {
        throw TypeError(.mismatch, ErrorWords(fault: error.message)).placed(below: error.path)
    }
}
