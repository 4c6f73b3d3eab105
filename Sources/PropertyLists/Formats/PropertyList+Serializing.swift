extension PropertyList {
    /// The bytes of a file that holds the value. Equal values give equal bytes.
    ///
    /// - Throws: ``PropertyListError/Code/invalidValue``, with the path of a value that the format cannot hold: a null
    ///   in XML and binary, a control character or a year beyond 9999 in XML, a date, data, a UID or a number that is
    ///   not finite in JSON; and for ``PropertyListFormat/openStep``, which is only read.
    public func serialized(as format: PropertyListFormat) throws(PropertyListError) -> [UInt8] {
        var output = GrowableBuffer<UInt8>()
        try write(as: format, to: &output)
        return output.takeArray()
    }

    /// The bytes of a file that a person may open: as ``serialized(as:)``, but JSON has a line for each value.
    ///
    /// - Parameter size: the largest size of the file in bytes.
    package func fileContents(as format: PropertyListFormat, size: Int = .max) throws(PropertyListError) -> [UInt8] {
        var output = GrowableBuffer<UInt8>()
        if format == .json {
            try JSONWriter.writeLines(self, to: &output, size: size)
        } else {
            try write(as: format, to: &output, size: size)
        }
        guard output.count <= size else { throw .tooLarge(output.count, most: size) }
        return output.takeArray()
    }

    /// The bytes of an XML file that holds the value, in the layout of an older file: see ``XMLLayoutWriter``. Where
    /// that cannot be read as XML, and where its layout makes the file larger than `size`, those of
    /// ``serialized(as:)``.
    ///
    /// Takes the memory that reading the old file takes, 36 bytes for each of its values, and twice the new file's
    /// size.
    package func serialized(
        inLayoutOf old: [UInt8], limits: PropertyListLimits = PropertyListLimits(), size: Int = .max
    ) throws(PropertyListError) -> [UInt8] {
        // The layout's writer copies text unchecked: this finds the values that XML cannot hold.
        let plain = try fileContents(as: .xml, size: size)
        let written = TextEncoding.withText(of: old) { text -> [UInt8]? in
            guard let layout = try? XMLLayout(of: text, limits: limits) else { return nil }
            return try? XMLLayoutWriter(self, layout).write(self)
        }
        return written.flatMap { $0.count <= size ? $0 : nil } ?? plain
    }

    /// Appends the bytes of a file that holds the value.
    ///
    /// - Parameters:
    ///   - limits: the limits that the file will be read with.
    ///   - size: the size in bytes from which on a text is given up.
    package func write(
        as format: PropertyListFormat, to output: inout GrowableBuffer<UInt8>,
        limits: PropertyListLimits = PropertyListLimits(), size: Int = .max
    ) throws(PropertyListError) {
        switch format {
        case .xml: try XMLWriter.write(self, to: &output, size: size)
        case .binary: try BinaryWriter.write(self, to: &output, limits: limits)
        case .json: try JSONWriter.write(self, to: &output, size: size)
        case .openStep:
            throw PropertyListError(.invalidValue, "\(format) is not written: choose XML, binary or JSON")
        }
    }
}

extension GrowableBuffer where Element == UInt8 {
    /// The bytes as an array; the buffer is empty afterwards.
    ///
    /// They are moved from the end on, piece by piece, and the memory of each is given back, so that there are never
    /// two copies. There are malloc libraries that copy a block to make it smaller: the number of pieces bounds that
    /// time.
    mutating func takeArray() -> [UInt8] {
        let piece = max(count / 32, 1 << 18)
        return Array(unsafeUninitializedCapacity: count) { array, initialized in
            initialized = count
            while count > 0 {
                let start = (count - 1) / piece * piece
                if let base, let target = array.baseAddress {
                    (target + start).initialize(from: base + start, count: count - start)
                }
                count = start
                trim()
            }
        }
    }
}
