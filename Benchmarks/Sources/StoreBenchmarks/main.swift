import FoundationEssentials
import Glibc
import KVCodable

func nanoseconds() -> Double {
    var t = timespec()
    clock_gettime(CLOCK_MONOTONIC, &t)
    return Double(t.tv_sec) * 1e9 + Double(t.tv_nsec)
}
func median(_ rounds: Int, _ body: () throws -> Void) rethrows -> Double {
    var times: [Double] = []
    for _ in 0..<rounds {
        let start = nanoseconds()
        try body()
        times.append(nanoseconds() - start)
    }
    return times.sorted()[rounds / 2]
}
func list(_ value: Any) throws -> PropertyList { try PropertyList(any: value) }
let folder = "/tmp/kvbench-\(getpid())"
mkdir(folder, 0o700)
let record = try list([
    "name": "window", "width": 640, "height": 480, "x": 10, "y": 20, "visible": true, "title": "untitled document",
    "opacity": 0.5, "level": 3, "tag": "main",
])
for count in [10, 1000, 10_000, 100_000] {
    var options = DefaultsStore.Options()
    options.durability = .manual
    let file = "\(folder)/\(count).plist"
    var dictionary: [String: Any] = [:]
    for i in 0..<count {
        dictionary["key-\(i)"] = i % 3 == 0 ? "a value \(i)" as Any : i % 3 == 1 ? i as Any : Double(i) / 3 as Any
    }
    try Data(list(dictionary).serialized(as: .xml)).write(to: URL(filePath: file))
    let load = try median(3) { _ = try DefaultsStore.open(path: file, options: options) }
    let store = try DefaultsStore.open(path: file, options: options)
    let n = 100_000
    let get =
        try median(5) { for i in 0..<n { if try store.value(forKey: "key-\(i % 10)") == nil { abort() } } } / Double(n)
    let three = try list(3)
    let set = try median(5) { for i in 0..<n { try store.set(three, forKey: "key-\(i % 10)") } } / Double(n)
    let setGet =
        try median(5) {
            for i in 0..<n {
                try store.set(record, forKey: "key-\(i % 10)")
                _ = try store.value(forKey: "key-\(i % 10)")
            }
        } / Double(n)
    let path: PropertyListPath = ["key-1", "width"]
    try store.set(record, forKey: "key-1")
    let setPath = try median(5) { for _ in 0..<n { try store.set(three, at: path) } } / Double(n)
    try store.sync()
    let durable = try median(11) {
        try store.set(three, forKey: "key-1")
        try store.sync()
    }
    let tx = try median(5) {
        try store.transaction { t in for i in 0..<1000 { try t.set(three, at: [.key("key-\(i)")]) } }
    }
    print(
        "\(count): load \(load/1e6) ms, get \(get) ns, set \(set) ns, set+get record \(setGet) ns, set path \(setPath) ns, durable \(durable/1e6) ms, tx1000 \(tx/1e6) ms"
    )
}
var options = DefaultsStore.Options()
options.durability = .manual
let store = try DefaultsStore.open(path: "\(folder)/big.plist", options: options)
let records = [Any](
    repeating: ["name": "some name that is rather long", "a": 1, "b": "more text", "c": 0.5] as [String: Any],
    count: 100_000)
let big = try list(records)
try store.set(big, forKey: "big")
try store.sync()
let paths = try median(1) {
    for i in 0..<10_000 { try store.set(list(i), at: ["big", .index(i * 7 % 100_000), "a"]) }
    try store.sync()
}
print("10,000 path sets: \(paths/1e6) ms")
