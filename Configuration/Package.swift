// swift-tools-version: 6.3
// A package of its own, so that users of the library fetch no dependency.
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // As swift-configuration has it: a provider's functions run where their caller runs.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"), .treatAllWarnings(as: .error),
]

let package = Package(
    name: "kvcodable-configuration",
    products: [.library(name: "KVCodableConfiguration", targets: ["KVCodableConfiguration"])],
    dependencies: [
        .package(name: "kvcodable", path: ".."),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    ],
    targets: [
        .target(
            name: "KVCodableConfiguration",
            dependencies: [
                .product(name: "KVCodable", package: "kvcodable"),
                .product(name: "Configuration", package: "swift-configuration"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "Example", dependencies: ["KVCodableConfiguration"], path: "Example", swiftSettings: strict),
        .testTarget(
            name: "KVCodableConfigurationTests",
            dependencies: [
                "KVCodableConfiguration",
                .product(name: "ConfigurationTesting", package: "swift-configuration"),
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
