internal import FoundationEssentials
internal import PropertyLists

extension PropertyListBuilder {
    /// Appends a scalar, in the kind that a property list has for it.
    @inline(__always) mutating func append(_ scalar: Scalar) throws(PropertyListError) {
        switch scalar {
        case .string(let value): try append(string: value)
        case .int(let value): try append(integer: Int64(value))
        case .double(let value): try append(real: value)
        case .bool(let value): try append(boolean: value)
        case .date(let value): try append(date: value.timeIntervalSinceReferenceDate)
        case .int8(let value): try append(integer: Int64(value))
        case .int16(let value): try append(integer: Int64(value))
        case .int32(let value): try append(integer: Int64(value))
        case .int64(let value): try append(integer: value)
        case .uint(let value): try append(unsigned: UInt64(value))
        case .uint8(let value): try append(integer: Int64(value))
        case .uint16(let value): try append(integer: Int64(value))
        case .uint32(let value): try append(integer: Int64(value))
        case .uint64(let value): try append(unsigned: value)
        case .float(let value): try append(real: Double(value))
        default: try append(uncommon: scalar)
        }
    }

    private mutating func append(uncommon scalar: Scalar) throws(PropertyListError) {
        switch scalar {
        case .data(let value): try append(data: [UInt8](value))
        case .decimal(let value): try append(string: value.description)
        case .url(let value): try append(string: value.absoluteString)
        case .int128(let value): try append(wide: value)
        case .uint128(let value): try append(wide: value)
        default: try append(string: "$null")
        }
    }

    private mutating func append<Wide: FixedWidthInteger>(wide value: Wide) throws(PropertyListError) {
        if let integer = Int64(exactly: value) {
            try append(integer: integer)
        } else if let unsigned = UInt64(exactly: value) {
            try append(unsigned: unsigned)
        } else {
            throw error(.invalidValue, "\(Wide.self) cannot be encoded. \(value) needs more than 64 bits")
        }
    }

    /// Appends a value given by a strategy's closure, or a placeholder.
    ///
    /// Not ``append(any:)``: a nil is written as `$null` here, values of Foundation's classes are looked into, and the
    /// levels of the value around this one count.
    mutating func append(
        any value: Any, depth: Int
    ) throws(PropertyListError) {
        guard depth < CodingLimits.depth else {
            throw error(.limitExceeded, "Values are nested deeper than \(CodingLimits.depth) levels")
        }
        let scalar = Scalar(in: value)
        guard case .other = scalar else { return try append(scalar) }
        if let entries = stringKeyed(value) {
            try beginDictionary()
            for (name, value) in entries {
                try key(name)
                try append(any: value, depth: depth + 1)
            }
            try end()
        } else if let elements = listed(value) {
            try beginArray()
            for element in elements { try append(any: element, depth: depth + 1) }
            try end()
        } else if let id = value as? UUID {
            try append(string: id.uuidString)
        } else {
            throw error(.invalidValue, .expected("a property-list value", found: "\(type(of: value))"))
        }
    }
}
