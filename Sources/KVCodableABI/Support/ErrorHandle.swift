internal import CKVCodable
internal import PropertyLists

/// The object behind a `kv_error`. Immutable but for the texts, which are made once.
final class ErrorHandle {
    let failure: Failure
    let message: NulTerminatedText
    let path: NulTerminatedText
    let file: NulTerminatedText?
    let steps: [Step]

    init(_ failure: Failure) {
        self.failure = failure
        message = NulTerminatedText(failure.message(firstIndex: 0))
        path = NulTerminatedText(failure.path.description)
        file = failure.file.map(NulTerminatedText.init)
        steps = failure.path.steps.map(Step.init)
    }

    enum Step {
        case key(NulTerminatedText)
        case index(Int)

        init(_ step: PropertyListPath.Step) {
            switch step {
            case .key(let key): self = .key(NulTerminatedText(key))
            case .index(let index): self = .index(index)
            }
        }

        var borrowed: kv_step {
            switch self {
            case .key(let text): kv_step(key: text.borrowed, index: 0)
            case .index(let index): kv_step(key: kv_str(data: nil, length: 0), index: Int64(index))
            }
        }
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
