import Foundation

// Types of every shape.

struct Scalars: Specimen {
    var bool: Bool
    var int: Int
    var int8: Int8
    var int16: Int16
    var int32: Int32
    var int64: Int64
    var uint: UInt
    var uint8: UInt8
    var uint16: UInt16
    var uint32: UInt32
    var uint64: UInt64
    var float: Float
    var double: Double
    var text: String
    var data: Data
    var date: Date
    var id: UUID

    static func make(_ random: inout Seeded) -> Scalars {
        Scalars(
            bool: random.flag(), int: random.integer(), int8: random.integer(), int16: random.integer(),
            int32: random.integer(), int64: random.integer(), uint: random.integer(), uint8: random.integer(),
            uint16: random.integer(), uint32: random.integer(), uint64: random.integer(),
            float: Float(Double.random(in: -1e30...1e30, using: &random)), double: random.real(), text: random.text(),
            data: random.data(), date: random.date(), id: random.id())
    }
}

struct Optionals: Specimen {
    var int: Int?
    var text: String?
    var nested: Scalars?
    var twice: Int??
    var list: [Int?]
    var lists: [[String]?]
    var table: [String: Int?]
    var empty: [String]?

    static func make(_ random: inout Seeded) -> Optionals {
        Optionals(
            int: random.maybe { $0.integer() }, text: random.maybe { $0.text() },
            nested: random.maybe { Scalars.make(&$0) }, twice: random.maybe { $0.integer() },
            list: random.many { $0.maybe { $0.integer() } },
            lists: random.many { random in random.maybe { $0.many { $0.text() } } },
            table: random.table({ $0.text() }, { $0.maybe { $0.integer() } }), empty: random.maybe { _ in [] })
    }
}

struct Collections: Specimen {
    var grid: [[Int]]
    var flags: [Bool]
    var reals: [Double]
    var bytes: [UInt8]
    var words: [UInt16]
    var dates: [Date]
    var datas: [Data]
    var set: Set<Int>
    var range: Range<Int>
    var closed: ClosedRange<String>
    var duration: Duration
    var objects: [Nothing]
    var deep: [[String: [[Int8]]]]

    struct Nothing: Codable, Equatable {}

    static func make(_ random: inout Seeded) -> Collections {
        let start = Int(random.integer(Int16.self))
        return Collections(
            grid: random.many { $0.many { $0.integer() } }, flags: random.many { $0.flag() },
            reals: random.many { $0.real() }, bytes: random.many { $0.integer() }, words: random.many { $0.integer() },
            dates: random.many { $0.date() }, datas: random.many { $0.data() }, set: Set(random.many { $0.integer() }),
            range: start..<(start + Int(random.integer(UInt8.self))), closed: "a"..."b\(random.flag())",
            duration: .nanoseconds(Int64(random.integer(Int32.self))), objects: random.many { _ in Nothing() },
            deep: random.many { $0.table({ $0.text() }, { $0.many { $0.many { $0.integer() } } }) })
    }
}

struct Tables: Specimen {
    enum Level: String, Codable, CaseIterable { case low, mid, high }
    enum Rank: Int, Codable, CaseIterable {
        case first = 1
        case second = 2
    }
    enum Name: String, Codable, CaseIterable, CodingKeyRepresentable { case one, two }

    var byText: [String: Double]
    var byInt: [Int: String]
    var byLevel: [Level: Int]
    var byRank: [Rank: [Int]]
    var byName: [Name: Bool]
    var byID: [UUID: String]
    var byFlag: [Bool: Int]
    var byReal: [Double: Int]
    var nested: [String: [String: [Int: Bool]]]

    static func make(_ random: inout Seeded) -> Tables {
        Tables(
            byText: random.table({ $0.text() }, { $0.real() }), byInt: random.table({ $0.integer() }, { $0.text() }),
            byLevel: random.table({ $0.one(of: Level.allCases) }, { $0.integer() }),
            byRank: random.table({ $0.one(of: Rank.allCases) }, { $0.many { $0.integer() } }),
            byName: random.table({ $0.one(of: Name.allCases) }, { $0.flag() }),
            byID: random.table({ $0.id() }, { $0.text() }), byFlag: random.table({ $0.flag() }, { $0.integer() }),
            byReal: random.table({ $0.real() }, { $0.integer() }),
            nested: random.table(
                { $0.text() }, { $0.table({ $0.text() }, { $0.table({ $0.integer() }, { $0.flag() }) }) }))
    }
}

indirect enum Choices: Specimen {
    case none
    case one(Int)
    case two(name: String, Bool)
    case list([Choices])
    case optional(Int?, label: String?)

    static func make(_ random: inout Seeded) -> Choices { make(&random, depth: 2) }

    private static func make(_ random: inout Seeded, depth: Int) -> Choices {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: .none
        case 1: .one(random.integer())
        case 2: .two(name: random.text(), random.flag())
        case 3 where depth > 0: .list(random.many { make(&$0, depth: depth - 1) })
        default: .optional(random.maybe { $0.integer() }, label: random.maybe { $0.text() })
        }
    }
}

/// Values that stand for themselves: raw values and single value containers.
struct Singles: Specimen {
    struct Wrapped: RawRepresentable, Codable, Equatable { var rawValue: Int }
    struct Options: OptionSet, Codable, Equatable { let rawValue: UInt8 }
    struct Single: Codable, Equatable {
        var texts: [String]
        init(_ texts: [String]) { self.texts = texts }
        init(from decoder: any Decoder) throws { texts = try decoder.singleValueContainer().decode([String].self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(texts)
        }
    }

    var level: Tables.Level
    var rank: Tables.Rank
    var wrapped: Wrapped
    var options: Options
    var single: Single
    var singles: [Single]
    var tree: Node

    final class Node: Codable, Equatable {
        var value: Int
        var next: Node?
        init(_ value: Int, _ next: Node?) { (self.value, self.next) = (value, next) }
        static func == (left: Node, right: Node) -> Bool { left.value == right.value && left.next == right.next }
    }

    static func make(_ random: inout Seeded) -> Singles {
        Singles(
            level: random.one(of: Tables.Level.allCases), rank: random.one(of: Tables.Rank.allCases),
            wrapped: Wrapped(rawValue: random.integer()), options: Options(rawValue: random.integer()),
            single: Single(random.many { $0.text() }), singles: random.many { Single($0.many { $0.text() }) },
            tree: random.many { $0.integer(Int.self) }.reduce(Node(0, nil)) { Node($1, $0) })
    }
}

/// A struct of structs of structs.
struct Records: Specimen {
    var scalars: Scalars
    var choice: Choices
    var children: [Records]
    var table: [String: Scalars]

    static func make(_ random: inout Seeded) -> Records { make(&random, depth: 1) }

    private static func make(_ random: inout Seeded, depth: Int) -> Records {
        Records(
            scalars: .make(&random), choice: .make(&random),
            children: depth > 0 ? random.many { make(&$0, depth: depth - 1) } : [],
            table: random.table({ $0.text() }, { Scalars.make(&$0) }))
    }
}
