import Foundation
import KeyValueCoder
import PropertyLists

// Without arguments: times every shape; with `records`, the records alone. With `count NAME OPERATION N`: does one thing N
// times and nothing else, for counting instructions (the difference between two N is what N operations cost).

var records = Shape(
    "1,000 records", (0..<1000).map(Record.make), operations: 1000)
records.encodeByHand = { $0.map(\.dictionary) as [Any] }
records.decodeByHand = { value in
    guard let elements = value as? [Any] else { throw WrongShape() }
    return try elements.map(Record.init(dictionary:))
}
records.buildByHand = { value in
    var builder = PropertyListBuilder()
    try builder.beginArray()
    for record in value { try record.append(to: &builder) }
    try builder.end()
    return try builder.finish()
}
records.encodeIdly = { try $0.encode(to: IdleEncoder()) }
records.decodeIdly = { try [Record](from: IdleDecoder(count: 1000)) }
records.readByHand = { list in try list.elements.map(Record.init(list:)) }

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "count" {
    try Counting.run(Array(arguments.dropFirst()), records)
} else if arguments.first == "records" {
    try records.run()
} else {
    try records.run()
    try Shape("100,000 integers", Array(0..<100_000), operations: 100_000).run()
    try Shape("100,000 doubles", (0..<100_000).map { Double($0) * 0.5 }, operations: 100_000).run()
    try Shape("10,000 strings", (0..<10_000).map { "string number \($0)" }, operations: 10_000).run()
    try Shape(
        "10,000 entries of String: Int", Dictionary(uniqueKeysWithValues: (0..<10_000).map { ("key \($0)", $0) }),
        operations: 10_000
    ).run()
    try Shape("100,000 of Int16", (0..<100_000).map { Int16(truncatingIfNeeded: $0) }, operations: 100_000).run()
    try Shape(
        "1,000 dictionaries of 5",
        (0..<1000).map { row in
            Dictionary(uniqueKeysWithValues: (0..<5).map { ("column \($0)", row * $0) })
        }, operations: 1000
    ).run()
    try Shape("a struct of two fields", Pair(x: 1, name: "one"), operations: 1, repeats: 10_000).run()
}
