internal import CKVCodable
internal import PropertyLists

/// What a `kv_error` points to. Immutable but for the texts, which are made once.
final class ErrorHandle {
    let failure: Failure
    let message: NulTerminatedText
    let path: NulTerminatedText

    init(_ failure: Failure) {
        self.failure = failure
        message = NulTerminatedText(failure.message(firstIndex: 0))
        path = NulTerminatedText(failure.path.description)
    }
}

/// Text in memory that a `kv_str` can borrow as long as this object lives. A NUL follows it.
final class NulTerminatedText {
    private let buffer: UnsafeMutableBufferPointer<CChar>

    init(_ text: String) {
        let bytes = text.utf8
        buffer = .allocate(capacity: bytes.count + 1)
        for (index, byte) in bytes.enumerated() { buffer[index] = CChar(bitPattern: byte) }
        buffer[bytes.count] = 0
    }

    deinit { buffer.deallocate() }

    var borrowed: kv_str { kv_str(data: buffer.baseAddress, length: buffer.count - 1) }
}
