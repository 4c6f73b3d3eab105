// swift-tools-version: 6.3
// The settings page. It is a package of its own, so that the command line needs neither FlyingFox nor Foundation.
//
// SwiftPM names a local package after its folder, whatever `name:` says. A checkout in a folder named `page` or `tool`
// gives two packages of one name, and SwiftPM does not build them.
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"), .treatAllWarnings(as: .error),
]

let package = Package(
    name: "kvdefaults-page",
    dependencies: [
        .package(name: "kvcodable", path: ".."),
        .package(path: "../Tool"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    ],
    targets: [
        .target(name: "CNoCurl"),
        .executableTarget(
            name: "kvdefaults-page",
            dependencies: [
                "CNoCurl",
                .product(name: "DomainAccess", package: "Tool"),
                .product(name: "KVCodable", package: "kvcodable"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            resources: ["html", "css", "js"].map { .embedInCode("Page/page.\($0)") },
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
