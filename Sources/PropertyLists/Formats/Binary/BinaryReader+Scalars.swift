extension BinaryReader where Output: ~Copyable {
    mutating func storeASCII(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let (start, count) = try objects.content(of: marker, unit: 1)
        let text = objects.slice(start, count)
        // Some writers put UTF-8 where ASCII belongs; their meaning is clear.
        guard isASCII(text) || isValidUTF8(text) else {
            throw PropertyListError(
                .malformed, .expected("ASCII", found: "bytes above 127"), location: .offset(marker.offset))
        }
        try admit(count)
        output.store(text.bindMemory(to: UInt8.self), of: output.bytes.count)
    }

    mutating func storeUTF16(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let (start, count) = try objects.content(of: marker, unit: 2)
        try admit(count &* 3)
        guard output.bytes.append(utf16: objects.slice(start, count &* 2), isBigEndian: true) else {
            throw PropertyListError(
                .malformed, .expected("UTF-16", found: "a lone surrogate"), location: .offset(marker.offset))
        }
    }

    mutating func data(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let (start, count) = try objects.content(of: marker, unit: 1)
        try admit(count)
        let first = output.bytes.count
        output.store(objects.slice(start, count).bindMemory(to: UInt8.self), of: first)
        try output.append(storedFrom: first, as: .data)
    }

    /// Integers of 1, 2 and 4 bytes have no sign, those of 8 have one, and of 16 those that fit in 64 bits are taken.
    mutating func integer(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        switch marker.byte & 0x0F {
        case 0, 1, 2, 3:
            let number = try objects.number(of: marker, size: 1 << Int(marker.byte & 0x0F))
            try output.append(scalar: .integer, number)
        case 4: try wideInteger(marker)
        default: throw unknown(marker)
        }
    }

    private mutating func wideInteger(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let high = try objects.number(of: marker, size: 8)
        let second = BinaryObjects.Marker(offset: marker.offset + 8, byte: marker.byte)
        let low = try objects.number(of: second, size: 8)
        if high == 0 {
            try output.append(scalar: low > UInt64(Int64.max) ? .unsigned : .integer, low)
        } else if high == .max, low > UInt64(Int64.max) {
            try output.append(scalar: .integer, low)
        } else {
            throw PropertyListError(
                .invalidValue, .expected("an integer of 64 bits", found: "a larger one"),
                location: .offset(marker.offset))
        }
    }

    mutating func real(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        switch marker.byte {
        case 0x22:
            let bits = UInt32(truncatingIfNeeded: try objects.number(of: marker, size: 4))
            try output.append(scalar: .real, Double(Float(bitPattern: bits)).bitPattern)
        case 0x23: try output.append(scalar: .real, try objects.number(of: marker, size: 8))
        default: throw unknown(marker)
        }
    }

    mutating func uid(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        let size = Int(marker.byte & 0x0F) + 1
        let number = size <= 8 ? try objects.number(of: marker, size: size) : .max
        guard let uid = UInt32(exactly: number) else {
            throw PropertyListError(
                .invalidValue, .expected("a UID of at most 4 bytes", found: "a larger one"),
                location: .offset(marker.offset)
            )
        }
        try output.append(scalar: .uid, UInt64(uid))
    }

    mutating func other(_ marker: BinaryObjects.Marker) throws(PropertyListError) {
        switch marker.byte {
        case 0x08: try output.append(scalar: .boolean, 0)
        case 0x09: try output.append(scalar: .boolean, 1)
        case 0x33:
            let seconds = Double(bitPattern: try objects.number(of: marker, size: 8))
            guard seconds.isFinite else {
                throw PropertyListError(
                    .invalidValue, .expected("a date", found: "no finite number"), location: .offset(marker.offset))
            }
            try output.append(scalar: .date, seconds.bitPattern)
        case 0x00:
            throw PropertyListError(
                .invalidValue, .expected("a value", found: "null"), location: .offset(marker.offset))
        case 0xB0...0xCF:
            throw PropertyListError(
                .invalidValue, .expected("a property-list value", found: "a set"), location: .offset(marker.offset))
        default: throw unknown(marker)
        }
    }

    fileprivate func unknown(_ marker: BinaryObjects.Marker) -> PropertyListError {
        objects.malformed(.expected("a value", found: "marker \(marker.hexadecimal)"), at: marker.offset)
    }
}
