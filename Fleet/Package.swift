// swift-tools-version: 6.3
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "fleet",
    targets: [
        .target(name: "CKVPostgreSQL"),
        .target(
            name: "FleetDatabase", dependencies: ["CKVPostgreSQL"], resources: [.embedInCode("fleet.sql")],
            swiftSettings: strict),
        // The program that the tests drive line by line.
        .executableTarget(
            name: "FleetProgram", dependencies: ["FleetDatabase"], path: "Tests/Program", swiftSettings: strict),
    ]
)
