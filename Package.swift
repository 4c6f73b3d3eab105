// swift-tools-version: 6.3
// The rooms and their imports are described in docs/architecture.md.
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

func room(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.init(stringLiteral: name), "TestSupport"] + dependencies,
        swiftSettings: strict)
}

/// The Lua that KVCodableLua is for, by the name of its pkg-config package: lua5.1, lua5.2, lua5.3 or luajit in the place
/// of lua5.4.
let lua = Context.environment["KVCODABLE_LUA"] ?? "lua5.4"

let package = Package(
    name: "kvcodable",
    products: [
        .library(name: "KVCodable", targets: ["KVCodable"]),
        .library(name: "KeyValueCoder", targets: ["KeyValueCoder"]),
        .library(name: "KeyValueCoding", targets: ["KeyValueCoding"]),
        .library(name: "PropertyLists", targets: ["PropertyLists"]),
        .library(name: "KeyedArchives", targets: ["KeyedArchives"]),
        .library(name: "KVCodableLua", targets: ["KVCodableLua", "KVCodableABI"]),
        .library(name: "kvcodable", type: .dynamic, targets: ["KVCodableABI"]),
    ],
    targets: [
        .target(name: "CKVCodable", path: "include", publicHeadersPath: "."),
        .target(name: "CKVSystem"),
        .target(name: "CKVSQLite"),
        .target(name: "CKVFields", dependencies: ["CKVCodable"]),
        .systemLibrary(name: "CKVLua", pkgConfig: lua, providers: [.apt(["lib\(lua)-dev"])]),

        room("PropertyLists", ["CKVCodable"]),
        room("KeyedArchives", ["CKVCodable", "PropertyLists"]),
        room("KeyValueCoding", ["CKVCodable", "PropertyLists"]),
        room("KeyValueCoder", ["KeyValueCoding"]),
        room("CodableTypes", ["KeyValueCoding", "PropertyLists"]),
        room("DefaultsStorage", ["KeyedArchives", "PropertyLists", "CKVSystem", "CKVSQLite"]),
        room("KVCodable", ["CodableTypes", "DefaultsStorage", "KeyValueCoding", "KeyedArchives", "PropertyLists"]),
        room(
            "KVCodableABI",
            [
                "CKVCodable", "CKVFields", "KVCodable", "CodableTypes", "DefaultsStorage", "KeyedArchives",
                "PropertyLists",
            ]),
        .target(name: "KVCodableLua", dependencies: ["CKVCodable", "CKVLua"], path: "lua/src"),

        .target(
            name: "TestSupport", dependencies: ["PropertyLists"], path: "Tests/Support/TestSupport",
            swiftSettings: strict),
        tests("PropertyLists", ["CKVCodable", "CKVSystem"]),
        tests("KeyedArchives", ["PropertyLists"]),
        tests("KeyValueCoding", ["PropertyLists"]),
        // Built as a stranger builds: without this package's settings.
        .executableTarget(
            name: "CompatibilityProgram", dependencies: ["KeyValueCoder"], path: "Tests/Support/CompatibilityProgram"),
        tests("KeyValueCoder", ["PropertyLists", "CompatibilityProgram"]),
        tests("CodableTypes", ["PropertyLists"]),
        .executableTarget(
            name: "StoreHelper", dependencies: ["CKVSystem", "DefaultsStorage", "PropertyLists"],
            path: "Tests/Support/StoreHelper", swiftSettings: strict),
        .executableTarget(
            name: "UserDefaultsHelper", path: "Tests/Support/UserDefaultsHelper", swiftSettings: strict),
        tests("DefaultsStorage", ["CKVSQLite", "PropertyLists", "StoreHelper", "UserDefaultsHelper"]),
        tests("KVCodable", ["PropertyLists", "DefaultsStorage", "CodableTypes", "StoreHelper"]),
        .testTarget(
            name: "StoryTests", dependencies: ["KVCodable", "KeyValueCoder", "KeyValueCoding", "PropertyLists"],
            swiftSettings: strict),
    ]
)
