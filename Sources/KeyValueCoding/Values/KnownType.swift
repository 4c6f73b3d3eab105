internal import FoundationEssentials

/// The types that the coders handle themselves instead of by their `Codable` conformance.
///
/// Asking a generic value for its type by `as?` costs hundreds of instructions when the answer is no; here one look
/// into a small table answers for all of them.
enum KnownType: UInt8 {
    case plain
    case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float, double, string
    case data, date, int128, uint128, decimal, url, uuid
    case bools, ints, int8s, int16s, int32s, int64s, uints, uint8s, uint16s, uint32s, uint64s, floats, doubles, strings
    case boolEntries, intEntries, doubleEntries, stringEntries
    case anyElements, anyEntries

    /// The case for `type`; `plain` for a type that the coders do not know.
    static func of(_ type: any Any.Type) -> KnownType { table.known(type) }

    static let table = Table(
        scalars + arrays + [
            ([String: Bool].self, .boolEntries), ([String: Int].self, .intEntries),
            ([String: Double].self, .doubleEntries), ([String: String].self, .stringEntries),
            ([Any].self, .anyElements), ([String: Any].self, .anyEntries),
        ])

    private static let scalars: [(any Any.Type, KnownType)] = [
        (Bool.self, .bool), (Int.self, .int), (Int8.self, .int8), (Int16.self, .int16), (Int32.self, .int32),
        (Int64.self, .int64), (UInt.self, .uint), (UInt8.self, .uint8), (UInt16.self, .uint16),
        (UInt32.self, .uint32), (UInt64.self, .uint64), (Float.self, .float), (Double.self, .double),
        (String.self, .string), (Data.self, .data), (Date.self, .date), (Int128.self, .int128),
        (UInt128.self, .uint128), (Decimal.self, .decimal), (URL.self, .url), (UUID.self, .uuid),
    ]

    private static let arrays: [(any Any.Type, KnownType)] = [
        ([Bool].self, .bools), ([Int].self, .ints), ([Int8].self, .int8s), ([Int16].self, .int16s),
        ([Int32].self, .int32s), ([Int64].self, .int64s), ([UInt].self, .uints), ([UInt8].self, .uint8s),
        ([UInt16].self, .uint16s), ([UInt32].self, .uint32s), ([UInt64].self, .uint64s), ([Float].self, .floats),
        ([Double].self, .doubles), ([String].self, .strings),
    ]
}

extension KnownType {
    /// An open-addressed table from types to their cases; never full, never changed.
    struct Table: Sendable {
        private struct Slot {
            var type: ObjectIdentifier?
            var known = KnownType.plain
        }

        private static let mask = 255
        /// Never changed and never freed: there is one table.
        private nonisolated(unsafe) let slots: UnsafePointer<Slot>

        init(_ types: [(any Any.Type, KnownType)]) {
            let slots = UnsafeMutablePointer<Slot>.allocate(capacity: Self.mask + 1)
            slots.initialize(repeating: Slot(), count: Self.mask + 1)
            for (type, known) in types {
                var index = Self.index(of: ObjectIdentifier(type))
                while slots[index].type != nil { index = (index + 1) & Self.mask }
                slots[index] = Slot(type: ObjectIdentifier(type), known: known)
            }
            self.slots = UnsafePointer(slots)
        }

        private static func index(of type: ObjectIdentifier) -> Int {
            // Metadata is aligned to 8 bytes; two shifts spread neighbours and whole pages alike.
            let bits = Int(bitPattern: type)
            return (bits >> 3 ^ bits >> 11) & mask
        }

        func known(_ type: any Any.Type) -> KnownType {
            let type = ObjectIdentifier(type)
            var index = Self.index(of: type)
            while true {
                let slot = slots[index]
                if slot.type == type { return slot.known }
                if slot.type == nil { return .plain }
                index = (index + 1) & Self.mask
            }
        }
    }
}

/// `value` as `Exact`, which the caller has found to be the same type as `Value`.
///
/// Sound because both types are one; a wrong caller is a fault of this module, never of its input. A cast by `as` would
/// look the types up, at some hundred instructions.
func exactly<Value, Exact>(_ value: Value, as type: Exact.Type = Exact.self) -> Exact {
    withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: type).pointee }
}
