internal import Glibc
internal import PropertyLists

/// The revision that a program uses of a store that is one of its layers, for the administrators of the fleet:
/// `kv_report` in `fleet.sql`.
struct FleetReport: Equatable, Sendable {
    /// A later revision that does not fit the program's schema.
    struct Refusal: Equatable, Sendable {
        let revision: Int64
        let error: DefaultsError
    }

    let store: String
    /// The program, by the name of its own store.
    let program: String
    let revision: Int64
    let refusal: Refusal?

    var statement: PostgreSQLConnection.Statement {
        guard let refusal else {
            return .init(
                "SELECT kv_report($1, $2, $3, $4)", .text(store), .text(Self.machine), .text(program),
                .integer(revision))
        }
        return .init(
            "SELECT kv_report($1, $2, $3, $4, $5, $6, $7)", .text(store), .text(Self.machine), .text(program),
            .integer(revision), .integer(refusal.revision), .text(refusal.error.path.description),
            .text(refusal.error.description))
    }

    /// The name by which the machine calls itself.
    private static let machine: String = {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()
}

/// The reports of all layers of a process, and which of them the server has not been told.
struct FleetReports {
    private var all: [ObjectIdentifier: FleetReport] = [:]
    private var untold: Set<ObjectIdentifier> = []

    var isEmpty: Bool { untold.isEmpty }

    /// Takes a layer's report, which replaces the one before; says whether it is another one.
    mutating func add(_ report: FleetReport, of layer: ObjectIdentifier) -> Bool {
        guard all[layer] != report else { return false }
        all[layer] = report
        untold.insert(layer)
        return true
    }

    /// A layer is no more: the server keeps its last report.
    mutating func remove(_ layer: ObjectIdentifier) {
        all[layer] = nil
        untold.remove(layer)
    }

    /// Those to tell now, which are taken to be told from then on.
    mutating func take() -> [FleetReport] {
        defer { untold = [] }
        return untold.compactMap { all[$0] }
    }

    /// All are to be told again.
    mutating func repeatAll() { untold = Set(all.keys) }
}
