public import Foundation
public import KeyValueCoding

extension KeyValueEncoder.DateEncodingStrategy {
    /// As a string in ISO 8601 form, `2026-11-21T08:00:00Z` unless the options say otherwise.
    ///
    /// One formatter serves all values and threads.
    public static func iso8601(options: ISO8601DateFormatter.Options = [.withInternetDateTime]) -> Self {
        iso8601(by: SharedDateFormatter(options))
    }

    package static func iso8601(by formatter: SharedDateFormatter) -> Self {
        .formatted { formatter.string(from: $0) }
    }
}

extension KeyValueDecoder.DateDecodingStrategy {
    /// From a string in ISO 8601 form, `2026-11-21T08:00:00Z` unless the options say otherwise.
    ///
    /// One formatter serves all values and threads.
    public static func iso8601(options: ISO8601DateFormatter.Options = [.withInternetDateTime]) -> Self {
        iso8601(by: SharedDateFormatter(options))
    }

    package static func iso8601(by formatter: SharedDateFormatter) -> Self {
        .parsed { formatter.date(from: $0) }
    }
}

/// A formatter for several threads. `@unchecked Sendable` holds because each use of the formatter is under the lock,
/// and it never leaves this class.
package final class SharedDateFormatter: @unchecked Sendable {
    private let formatter: ISO8601DateFormatter
    private let lock = NSLock()

    /// - Parameter make: makes the formatter, once.
    package init(
        _ options: ISO8601DateFormatter.Options, make: () -> ISO8601DateFormatter = { ISO8601DateFormatter() }
    ) {
        formatter = make()
        formatter.formatOptions = options
    }

    func string(from date: Date) -> String {
        lock.withLock { formatter.string(from: date) }
    }

    func date(from string: String) -> Date? {
        lock.withLock { formatter.date(from: string) }
    }
}
