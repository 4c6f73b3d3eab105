// swift-tools-version: 6.3
// A package of its own, so that the root package stays free of what only benchmarks need.
import PackageDescription

func ours(_ names: String...) -> [Target.Dependency] {
    names.map { .product(name: $0, package: "kvcodable") }
}

let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "kvcodable", path: "..")],
    targets: [
        .systemLibrary(name: "CPlist", pkgConfig: "libplist-2.0", providers: [.apt(["libplist-dev"])]),
        .executableTarget(name: "CoderBenchmarks", dependencies: ours("KeyValueCoder", "PropertyLists")),
        .executableTarget(name: "FormatBenchmarks", dependencies: ["CPlist"] + ours("PropertyLists")),
        .systemLibrary(
            name: "CPeers", pkgConfig: "glib-2.0 sqlite3", providers: [.apt(["libglib2.0-dev", "libsqlite3-dev"])]),
        .executableTarget(name: "StoreBenchmarks", dependencies: ["CPeers"] + ours("KVCodable")),
    ],
    swiftLanguageModes: [.v6]
)
