public import Foundation
public import KeyValueCoding

extension KeyValueEncoder.DateEncodingStrategy {
    /// As a string in ISO 8601 form, `2026-11-21T08:00:00Z` unless the options say otherwise.
    ///
    /// One formatter serves all values and threads.
    public static func iso8601(options: ISO8601DateFormatter.Options = [.withInternetDateTime]) -> Self {
        let formatter = SharedDateFormatter(options)
        return .formatted { formatter.string(from: $0) }
    }
}

extension KeyValueDecoder.DateDecodingStrategy {
    /// From a string in ISO 8601 form, `2026-11-21T08:00:00Z` unless the options say otherwise.
    ///
    /// One formatter serves all values and threads.
    public static func iso8601(options: ISO8601DateFormatter.Options = [.withInternetDateTime]) -> Self {
        let formatter = SharedDateFormatter(options)
        return .parsed { formatter.date(from: $0) }
    }
}

/// A formatter for several threads. `@unchecked Sendable` holds because each use of the formatter is under the lock,
/// and it never leaves this class.
private final class SharedDateFormatter: @unchecked Sendable {
    private let formatter = ISO8601DateFormatter()
    private let lock = NSLock()

    init(_ options: ISO8601DateFormatter.Options) {
        formatter.formatOptions = options
    }

    func string(from date: Date) -> String {
        lock.withLock { formatter.string(from: date) }
    }

    func date(from string: String) -> Date? {
        lock.withLock { formatter.date(from: string) }
    }
}
