internal import CKVCodable

// MARK: - Scalars

extension PropertyListBuilder {
    /// Appends a null, which no file can hold.
    ///
    /// - Throws: as ``append(boolean:)``.
    @inlinable public mutating func appendNull() throws(PropertyListError) {
        try append(scalar: .null, 0)
    }

    /// Appends true or false.
    ///
    /// - Throws: ``PropertyListError/Code/misuse`` where a key is expected, or the value is complete already;
    ///   ``PropertyListError/Code/limitExceeded`` beyond 2,147,483,647 values.
    @inlinable public mutating func append(boolean: Bool) throws(PropertyListError) {
        try append(scalar: .boolean, boolean ? 1 : 0)
    }

    /// Appends a whole number.
    ///
    /// - Throws: as ``append(boolean:)``.
    @inlinable public mutating func append(integer: Int64) throws(PropertyListError) {
        try append(scalar: .integer, UInt64(bitPattern: integer))
    }

    /// Appends a whole number: as integer where `Int64` can hold it, else as unsigned.
    @inlinable public mutating func append(unsigned: UInt64) throws(PropertyListError) {
        try append(scalar: unsigned > UInt64(Int64.max) ? .unsigned : .integer, unsigned)
    }

    /// Appends a floating-point number by its bits, finite or not.
    ///
    /// - Throws: as ``append(boolean:)``.
    @inlinable public mutating func append(real: Double) throws(PropertyListError) {
        try append(scalar: .real, real.bitPattern)
    }

    /// - Parameter date: seconds since 2001-01-01T00:00:00Z.
    @inlinable public mutating func append(date: Double) throws(PropertyListError) {
        try append(scalar: .date, date.bitPattern)
    }

    /// Appends a keyed archive's reference to the object with this number.
    ///
    /// - Throws: as ``append(boolean:)``.
    @inlinable public mutating func append(uid: UInt32) throws(PropertyListError) {
        try append(scalar: .uid, UInt64(uid))
    }

    @usableFromInline package mutating func append(
        scalar kind: PropertyListKind, _ payload: UInt64
    ) throws(PropertyListError) {
        try admit()
        nodes.append(kv_node(kind: kind, payload: payload))
    }
}

// MARK: - Strings and data

extension PropertyListBuilder {
    /// Appends a string.
    ///
    /// - Throws: as ``append(boolean:)``, and ``PropertyListError/Code/limitExceeded`` beyond 4 GB.
    public mutating func append(string: String) throws(PropertyListError) {
        // A Swift string is valid by construction.
        try string.withBytes { utf8 throws(PropertyListError) in try append(bytes: utf8, as: .string) }
    }

    /// - Throws: ``PropertyListError/Code/invalidValue`` when the bytes are not UTF-8.
    public mutating func append(utf8 bytes: UnsafeRawBufferPointer) throws(PropertyListError) {
        try validate(utf8: bytes, "a string")
        try append(bytes: bytes, as: .string)
    }

    /// Appends a copy of bytes that are lent for the time of the call.
    ///
    /// - Throws: as ``append(string:)``.
    public mutating func append(data bytes: UnsafeRawBufferPointer) throws(PropertyListError) {
        try append(bytes: bytes, as: .data)
    }

    /// Appends bytes as data.
    ///
    /// - Throws: as ``append(string:)``.
    public mutating func append(data bytes: [UInt8]) throws(PropertyListError) {
        try bytes.withUnsafeBufferPointer { bytes throws(PropertyListError) in
            try append(bytes: UnsafeRawBufferPointer(bytes), as: .data)
        }
    }

    package mutating func append(
        bytes: UnsafeRawBufferPointer, as kind: PropertyListKind
    ) throws(PropertyListError) {
        try admit()
        let offset = try store(bytes)
        nodes.append(kv_node(kind: kind, count: bytes.count, payload: offset))
    }

    /// Copies the bytes and gives their offset.
    package mutating func store(_ source: UnsafeRawBufferPointer) throws(PropertyListError) -> UInt64 {
        guard source.count <= PropertyListLimits.length else {
            throw tooLong(source.count)
        }
        let offset = bytes.count
        bytes.append(source.bindMemory(to: UInt8.self))
        return UInt64(truncatingIfNeeded: offset)
    }

    func validate(utf8 bytes: UnsafeRawBufferPointer, _ what: String) throws(PropertyListError) {
        guard let offset = firstInvalidUTF8(bytes) else { return }
        throw error(
            .invalidValue,
            .expected("UTF-8 in \(what)", found: "invalid bytes after \(offset)", advice: "use data for bytes"))
    }
}
