internal import CKVPostgreSQL

/// The rows of a statement. Only this type reads the server's bytes, and checks their sizes.
package final class PostgreSQLResult {
    private let pq: cpq_functions
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer, _ pq: cpq_functions) {
        self.handle = handle
        self.pq = pq
    }

    deinit { pq.clear(handle) }

    private var status: Int32 { pq.resultStatus(handle) }
    var isGood: Bool { status == CPQ_TUPLES_OK || status == CPQ_COMMAND_OK }
    var isEndOfPipeline: Bool { status == CPQ_PIPELINE_SYNC }
    package var count: Int { Int(pq.ntuples(handle)) }

    /// A field of an error.
    func field(_ field: Int32) -> String {
        pq.resultErrorField(handle, field).map { String(cString: $0) } ?? ""
    }

    /// The bytes of a field; nil for NULL, and outside of the rows and columns.
    func bytes(_ row: Int, _ column: Int32) -> [UInt8]? {
        guard 0..<count ~= row, 0..<pq.nfields(handle) ~= column, pq.getisnull(handle, Int32(row), column) == 0,
            let start = pq.getvalue(handle, Int32(row), column)
        else { return nil }
        return Array(UnsafeBufferPointer(start: start, count: Int(max(pq.getlength(handle, Int32(row), column), 0))))
    }

    /// The text of a field; nil for NULL. Bytes that are not UTF-8 are replaced.
    package func text(_ row: Int, _ column: Int32) -> String? {
        bytes(row, column).map { String(decoding: $0, as: UTF8.self) }
    }

    func integer(_ row: Int, _ column: Int32) throws(FleetError) -> Int64 {
        guard let bytes = bytes(row, column), bytes.count == 8 else { throw .strangeRow }
        return Int64(truncatingIfNeeded: bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }

    func boolean(_ row: Int, _ column: Int32) throws(FleetError) -> Bool {
        guard let bytes = bytes(row, column), bytes.count == 1 else { throw .strangeRow }
        return bytes[0] != 0
    }

    /// The 16 bytes of a UUID; nil for NULL.
    func uuid(_ row: Int, _ column: Int32) throws(FleetError) -> [UInt8]? {
        guard let bytes = bytes(row, column) else { return nil }
        guard bytes.count == 16 else { throw .strangeRow }
        return bytes
    }
}
