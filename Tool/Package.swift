// swift-tools-version: 6.3
// A package of its own, so that users of the library fetch no dependency.
//
// SwiftPM knows a local package by the name of its folder alone, whatever `name:` says: in a checkout whose folder is
// called `tool` it takes the two for one, and does not build.
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"), .treatAllWarnings(as: .error),
]

let package = Package(
    name: "kvdefaults",
    // The settings page, the package Page, opens stores as the command line does.
    products: [.library(name: "DomainAccess", targets: ["DomainAccess"])],
    dependencies: [
        .package(name: "kvcodable", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .target(
            name: "DomainAccess", dependencies: [.product(name: "KVCodable", package: "kvcodable")],
            swiftSettings: settings),
        .executableTarget(
            name: "kvdefaults",
            dependencies: [
                "DomainAccess",
                .product(name: "KVCodable", package: "kvcodable"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
