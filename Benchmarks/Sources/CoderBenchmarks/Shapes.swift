import Foundation

/// Eight fields of mixed kinds: a nested struct, an optional, an array of strings and a date among them.
struct Record: Codable, Equatable {
    struct Size: Codable, Equatable {
        var width: Double
        var height: Double
    }

    var id: Int
    var name: String
    var score: Double
    var active: Bool
    var size: Size
    var note: String?
    var tags: [String]
    var created: Date

    static func make(_ index: Int) -> Record {
        Record(
            id: index, name: "Record number \(index)", score: Double(index) * 1.25, active: index % 2 == 0,
            size: Size(width: Double(index) + 0.5, height: 480),
            note: index % 3 == 0 ? nil : "note \(index)",
            tags: ["alpha", "beta \(index % 7)", "gamma"],
            created: Date(timeIntervalSinceReferenceDate: Double(700_000_000 + index)))
    }
}

struct Pair: Codable, Equatable {
    var x: Int
    var name: String
}
