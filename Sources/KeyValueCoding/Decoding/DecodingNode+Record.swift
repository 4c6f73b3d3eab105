// Which keys a decoding asks for, where somebody wants to know.

extension DecodingNode {
    /// The name, noted as asked for.
    final func noted(_ name: String) -> String {
        record?.asked.insert(name)
        return name
    }

    /// Gives a child that has its value a record of it.
    final func recordNames(of child: DecodingNode, in record: KeyRecord) {
        child.record = record
        if record.isExact, child.openEntries() { record.note(names: child.names) }
    }

    /// This node, whose value is decoded by its containers alone.
    final func noticed() -> DecodingNode {
        if let record { recordNames(of: self, in: record) }
        return self
    }

    /// Decodes a child of its own type, and keeps what that asked for if it succeeds.
    final func decodeRecorded<T: Decodable>(
        _ type: T.Type, _ child: DecodingNode, at slot: DecodingSlot, in record: KeyRecord
    ) throws -> T {
        let attempt = record.attempt(at: slot)
        recordNames(of: child, in: attempt)
        defer { child.record = nil }
        let value = try child.decodeOwn(type)
        record.keep(attempt, at: slot)
        return value
    }

    /// Runs the one decoding of a call of `decode`; then tells which keys it left over, under the strategy.
    final func decodeRoot<T>(_ decode: (DecodingNode) throws -> T) throws -> T {
        switch context.options.leftOverKeyDecodingStrategy {
        case .ignore: return try decode(self)
        case .throw: return try decodeExactly(decode) { throw $0.error }
        case .report(let report): return try decodeExactly(decode, report)
        }
    }

    private final func decodeExactly<T>(
        _ decode: (DecodingNode) throws -> T, _ tell: (LeftOverKeys) throws -> Void
    ) throws -> T {
        let record = KeyRecord(isExact: true)
        self.record = record
        let value = try decode(self)
        let paths = record.leftOver(below: context.place?.codingPath ?? [])
        if !paths.isEmpty { try tell(LeftOverKeys(paths, context)) }
        return value
    }
}
