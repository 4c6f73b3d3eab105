// swift-tools-version: 6.3
// Benchmarks stand in a package of their own, so that the root package needs nothing that only they need.
import PackageDescription

let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "kvcodable", path: "..")],
    targets: [
        .executableTarget(
            name: "StoreBenchmarks",
            dependencies: [
                .product(name: "KVCodable", package: "kvcodable"), .product(name: "PropertyLists", package: "kvcodable"),
            ])
    ]
)
