// swift-tools-version: 6.3
// A package of its own, so that the root package stays free of what only benchmarks need.
import PackageDescription

let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "kvcodable", path: "..")],
    targets: [
        .executableTarget(
            name: "CoderBenchmarks",
            dependencies: [
                .product(name: "KeyValueCoder", package: "kvcodable"),
                .product(name: "PropertyLists", package: "kvcodable"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(
            name: "StoreBenchmarks",
            dependencies: [.product(name: "KVCodable", package: "kvcodable")],
            swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
