internal import CKVCodable
internal import FoundationEssentials
internal import PropertyLists

/// A type that ``Scalar`` has a case for, so that arrays and dictionaries of it are handled as a whole.
protocol ScalarValue: Codable {
    var scalar: Scalar { get }

    /// The value of a scalar of exactly this type; nil for every other.
    init?(_ scalar: Scalar)

    /// The value of a node of the type's own kind; nil where it is of another, or the type cannot hold it.
    init?(_ document: borrowing Document, at index: Int)
}

extension ScalarValue where Self: FixedWidthInteger {
    init?(_ document: borrowing Document, at index: Int) {
        let node = document.nodes[index]
        switch node.kind {
        case .integer: self.init(exactly: Int64(bitPattern: node.payload))
        case .unsigned: self.init(exactly: node.payload)
        default: return nil
        }
    }
}

extension Int: ScalarValue {
    var scalar: Scalar { .int(self) }

    init?(_ scalar: Scalar) {
        guard case .int(let value) = scalar else { return nil }
        self = value
    }
}

extension Int8: ScalarValue {
    var scalar: Scalar { .int8(self) }

    init?(_ scalar: Scalar) {
        guard case .int8(let value) = scalar else { return nil }
        self = value
    }
}

extension Int16: ScalarValue {
    var scalar: Scalar { .int16(self) }

    init?(_ scalar: Scalar) {
        guard case .int16(let value) = scalar else { return nil }
        self = value
    }
}

extension Int32: ScalarValue {
    var scalar: Scalar { .int32(self) }

    init?(_ scalar: Scalar) {
        guard case .int32(let value) = scalar else { return nil }
        self = value
    }
}

extension Int64: ScalarValue {
    var scalar: Scalar { .int64(self) }

    init?(_ scalar: Scalar) {
        guard case .int64(let value) = scalar else { return nil }
        self = value
    }
}

extension UInt: ScalarValue {
    var scalar: Scalar { .uint(self) }

    init?(_ scalar: Scalar) {
        guard case .uint(let value) = scalar else { return nil }
        self = value
    }
}

extension UInt8: ScalarValue {
    var scalar: Scalar { .uint8(self) }

    init?(_ scalar: Scalar) {
        guard case .uint8(let value) = scalar else { return nil }
        self = value
    }
}

extension UInt16: ScalarValue {
    var scalar: Scalar { .uint16(self) }

    init?(_ scalar: Scalar) {
        guard case .uint16(let value) = scalar else { return nil }
        self = value
    }
}

extension UInt32: ScalarValue {
    var scalar: Scalar { .uint32(self) }

    init?(_ scalar: Scalar) {
        guard case .uint32(let value) = scalar else { return nil }
        self = value
    }
}

extension UInt64: ScalarValue {
    var scalar: Scalar { .uint64(self) }

    init?(_ scalar: Scalar) {
        guard case .uint64(let value) = scalar else { return nil }
        self = value
    }
}

extension Bool: ScalarValue {
    var scalar: Scalar { .bool(self) }

    init?(_ scalar: Scalar) {
        guard case .bool(let value) = scalar else { return nil }
        self = value
    }

    init?(_ document: borrowing Document, at index: Int) {
        guard document.nodes[index].kind == .boolean else { return nil }
        self = document.nodes[index].payload != 0
    }
}

extension Float: ScalarValue {
    var scalar: Scalar { .float(self) }

    init?(_ scalar: Scalar) {
        guard case .float(let value) = scalar else { return nil }
        self = value
    }

    /// A real that a Float cannot hold takes the longer way, which makes the error.
    init?(_ document: borrowing Document, at index: Int) {
        guard let value = Double(document, at: index) else { return nil }
        self.init(value)
        guard isFinite == value.isFinite else { return nil }
    }
}

extension Double: ScalarValue {
    var scalar: Scalar { .double(self) }

    init?(_ scalar: Scalar) {
        guard case .double(let value) = scalar else { return nil }
        self = value
    }

    init?(_ document: borrowing Document, at index: Int) {
        guard document.nodes[index].kind == .real else { return nil }
        self.init(bitPattern: document.nodes[index].payload)
    }
}

extension String: ScalarValue {
    var scalar: Scalar { .string(self) }

    init?(_ scalar: Scalar) {
        guard case .string(let value) = scalar else { return nil }
        self = value
    }

    init?(_ document: borrowing Document, at index: Int) {
        let node = document.nodes[index]
        guard node.kind == .string else { return nil }
        self.init(decoding: document.buffer(of: node), as: UTF8.self)
    }
}
