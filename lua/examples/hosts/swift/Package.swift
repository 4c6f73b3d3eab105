// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "SwiftHost",
    dependencies: [.package(name: "kvcodable", path: "../../../..")],
    targets: [
        .systemLibrary(name: "LuaLibrary", pkgConfig: "lua5.4", providers: [.apt(["liblua5.4-dev"])]),
        .executableTarget(
            name: "SwiftHost",
            dependencies: [
                "LuaLibrary",
                .product(name: "KVCodable", package: "kvcodable"),
                .product(name: "KVCodableLua", package: "kvcodable"),
            ]),
    ]
)
