extension PropertyList {
    /// The bytes of a file that holds the value. Equal values give equal bytes.
    ///
    /// - Throws: ``PropertyListError/Code/invalidValue``, with the path of what the format cannot hold: a null in XML
    ///   and binary, a control character or a year beyond 9999 in XML, a date, data, a UID or a number that is not
    ///   finite in JSON; and for ``PropertyListFormat/openStep``, which is only read.
    public func serialized(as format: PropertyListFormat) throws(PropertyListError) -> [UInt8] {
        var output = GrowableBuffer<UInt8>()
        try write(as: format, to: &output)
        return Array(UnsafeBufferPointer(start: output.base, count: output.count))
    }

    /// Appends the bytes of a file that holds the value.
    package func write(
        as format: PropertyListFormat, to output: inout GrowableBuffer<UInt8>
    ) throws(PropertyListError) {
        switch format {
        case .xml: try XMLWriter.write(self, to: &output)
        case .binary: try BinaryWriter.write(self, to: &output)
        case .json: try JSONWriter.write(self, to: &output)
        case .openStep:
            throw PropertyListError(.invalidValue, "\(format) is not written: choose XML, binary or JSON")
        }
    }
}
