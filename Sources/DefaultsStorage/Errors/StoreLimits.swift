internal import PropertyLists

/// Limits of a store's size.
struct StoreLimits: Sendable, Hashable {
    /// The limits of a store whose program sets none.
    static let standard = StoreLimits(bytes: 256 << 20, nodes: 1 << 24)

    var bytes: Int
    var nodes: Int

    /// The bytes of the largest file that is read and written. Binary takes at most twice the bytes in memory; 768 MB
    /// more are for XML and JSON, and for files of programs with other limits, or none.
    var readableFile: Int {
        let (sum, overflow) = bytes.addingReportingOverflow(max(bytes, 768 << 20))
        return overflow ? .max : sum
    }

    /// Limits of reading a file, or a row of it.
    var reading: PropertyListLimits { PropertyListLimits(expandedBytes: readableFile) }

    /// The wider of the two for each.
    func union(_ other: StoreLimits) -> StoreLimits {
        StoreLimits(bytes: max(bytes, other.bytes), nodes: max(nodes, other.nodes))
    }

    /// Whether a store that has `size` may grow by `growth`: a change that adds nothing is always admitted.
    func admit(_ growth: PropertyListSize, to size: PropertyListSize) -> Bool {
        (growth.bytes <= 0 || size.bytes &+ growth.bytes <= bytes)
            && (growth.nodes <= 0 || size.nodes &+ growth.nodes <= nodes)
    }
}

extension StoreLimits {
    /// The error of a file that is not read, or not written since it could not be read again.
    func tooLarge(_ size: Int, file: String?) -> DefaultsError {
        DefaultsError(
            .limitExceeded, .expected("a file of at most \(readableFile) bytes", found: "\(size)"), file: file)
    }

    /// Checks the size of all registered defaults.
    func checkRegistered(_ size: PropertyListSize) throws(DefaultsError) {
        guard size.bytes > bytes || size.nodes > nodes else { return }
        let message =
            size.bytes > bytes
            ? "Expected registered defaults of at most \(bytes) bytes, found \(size.bytes)"
            : "Expected registered defaults of at most \(nodes) values and keys, found \(size.nodes)"
        throw DefaultsError(.limitExceeded, message)
    }

    func error(
        _ change: PropertyListSize, to size: PropertyListSize, at path: PropertyListPath, file: String?
    ) -> DefaultsError {
        let sum = size + change
        let message =
            change.bytes > 0 && sum.bytes > bytes
            ? "Expected a store of at most \(bytes) bytes, this would make it \(sum.bytes)"
            : "Expected a store of at most \(nodes) values and keys, this would make it \(sum.nodes)"
        return DefaultsError(.limitExceeded, message, at: path, file: file)
    }
}
