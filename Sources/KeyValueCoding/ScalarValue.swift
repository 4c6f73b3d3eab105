internal import CKVCodable
internal import FoundationEssentials
internal import PropertyLists

/// A type that ``Scalar`` has a case for, so that arrays and dictionaries of it are handled as a whole.
protocol ScalarValue {
    var scalar: Scalar { get }

    /// The value of a node of the type's own kind; nil where it is of another, or the type cannot hold it.
    init?(_ document: Document, at index: Int)
}

extension ScalarValue where Self: FixedWidthInteger {
    @inline(__always) init?(_ document: Document, at index: Int) {
        let node = document.nodes[index]
        switch node.kind {
        case .integer: self.init(exactly: Int64(bitPattern: node.payload))
        case .unsigned: self.init(exactly: node.payload)
        default: return nil
        }
    }
}

extension Int: ScalarValue { var scalar: Scalar { .int(self) } }
extension Int8: ScalarValue { var scalar: Scalar { .int8(self) } }
extension Int16: ScalarValue { var scalar: Scalar { .int16(self) } }
extension Int32: ScalarValue { var scalar: Scalar { .int32(self) } }
extension Int64: ScalarValue { var scalar: Scalar { .int64(self) } }
extension UInt: ScalarValue { var scalar: Scalar { .uint(self) } }
extension UInt8: ScalarValue { var scalar: Scalar { .uint8(self) } }
extension UInt16: ScalarValue { var scalar: Scalar { .uint16(self) } }
extension UInt32: ScalarValue { var scalar: Scalar { .uint32(self) } }
extension UInt64: ScalarValue { var scalar: Scalar { .uint64(self) } }

extension Bool: ScalarValue {
    var scalar: Scalar { .bool(self) }

    @inline(__always) init?(_ document: Document, at index: Int) {
        guard document.nodes[index].kind == .boolean else { return nil }
        self = document.nodes[index].payload != 0
    }
}

extension Float: ScalarValue {
    var scalar: Scalar { .float(self) }

    /// A real that a Float cannot hold goes the longer way, which has the words for the error.
    @inline(__always) init?(_ document: Document, at index: Int) {
        guard let value = Double(document, at: index) else { return nil }
        self.init(value)
        guard isFinite == value.isFinite else { return nil }
    }
}

extension Double: ScalarValue {
    var scalar: Scalar { .double(self) }

    @inline(__always) init?(_ document: Document, at index: Int) {
        guard document.nodes[index].kind == .real else { return nil }
        self.init(bitPattern: document.nodes[index].payload)
    }
}

extension String: ScalarValue {
    var scalar: Scalar { .string(self) }

    @inline(__always) init?(_ document: Document, at index: Int) {
        let node = document.nodes[index]
        guard node.kind == .string else { return nil }
        self.init(decoding: document.buffer(of: node), as: UTF8.self)
    }
}
