extension String {
    /// Lends the string's UTF-8 bytes for the time of the call; what `withUTF8` does, with the error's type kept.
    @inlinable package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = self
        let result = copy.withUTF8 { utf8 -> Swift.Result<Result, Failure> in
            do throws(Failure) {
                return .success(try body(UnsafeRawBufferPointer(utf8)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension GrowableBuffer where Element == UInt8 {
    /// Appends the string's UTF-8 bytes. Short ones are copied by words that may overlap: a call costs more than that.
    @inlinable @inline(__always)
    package mutating func append(text: String) {
        // Unlike `withUTF8`, it needs no copy of the string to be made contiguous; strings that are not are rare.
        let isDone: Void? = text.utf8.withContiguousStorageIfAvailable { append(short: $0) }
        guard isDone == nil else { return }
        for byte in text.utf8 { append(byte) }
    }

    @inlinable @inline(__always)
    mutating func append(short source: UnsafeBufferPointer<UInt8>) {
        let length = source.count
        reserve(length)
        guard let source = UnsafeRawPointer(source.baseAddress), let base, length > 0 else { return }
        let target = UnsafeMutableRawPointer(base + count)
        count &+= length
        if length > 16 {
            target.copyMemory(from: source, byteCount: length)
        } else if length >= 8 {
            Self.copyEnds(source, target, length, as: UInt64.self)
        } else if length >= 4 {
            Self.copyEnds(source, target, length, as: UInt32.self)
        } else {
            target.storeBytes(of: source.load(as: UInt8.self), as: UInt8.self)
            if length > 1 { Self.copyEnds(source + 1, target + 1, length &- 1, as: UInt8.self) }
        }
    }

    /// Copies as many bytes as a word has from the front and from the back; there are no more than two words.
    @inlinable @inline(__always)
    static func copyEnds<Word: FixedWidthInteger & BitwiseCopyable>(
        _ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, _ length: Int, as word: Word.Type
    ) {
        let last = length &- MemoryLayout<Word>.size
        let front = source.loadUnaligned(as: Word.self)
        let back = (source + last).loadUnaligned(as: Word.self)
        target.storeBytes(of: front, as: Word.self)
        (target + last).storeBytes(of: back, as: Word.self)
    }
}
