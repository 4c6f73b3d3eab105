import Foundation

/// Times several ways of doing one thing in turn, so that a disturbance of the machine disturbs all of them.
struct Measurement {
    struct Way {
        var name: String
        var run: () throws -> Void
    }

    /// The median of nanoseconds for the first way, `operations` of which are done by one run; for each other way as many
    /// times that as the median of its rounds is, since a disturbance that outlasts a round is in both.
    static func medians(_ ways: [Way], operations: Int, rounds: Int) throws -> [Double] {
        var times = [[Double]](repeating: [], count: ways.count)
        for way in ways { try way.run() }
        for _ in 0..<rounds {
            for (index, way) in ways.enumerated() {
                let clock = ContinuousClock()
                let time = try clock.measure { try way.run() }
                let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
                times[index].append(seconds * 1e9 / Double(operations))
            }
        }
        let first = median(times[0])
        return times.map { first * median(zip($0, times[0]).map { $0 / $1 }) }
    }

    private static func median(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }

    /// Prints a row of each way's time (report.py); ours is the first.
    static func report(_ title: String, _ ways: [Way], operations: Int, rounds: Int) throws {
        let medians = try medians(ways, operations: operations, rounds: rounds).map { String(format: "%.1f", $0) }
        let peers = zip(ways, medians).dropFirst().map { "\($0.name)=\($1)" }
        print((["row", title, "ns", medians[0]] + peers).joined(separator: "\t"))
    }
}

/// Keeps a result from being optimised away.
@inline(never) func consume<T>(_ value: T) {}
