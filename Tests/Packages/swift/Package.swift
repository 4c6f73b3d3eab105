// swift-tools-version: 6.3
// A package that depends on this one: by path, or, where KVCODABLE_URL is set, by a URL and the tag KVCODABLE_TAG.
import PackageDescription

let environment = Context.environment
let dependency: Package.Dependency =
    if let url = environment["KVCODABLE_URL"], let tag = environment["KVCODABLE_TAG"], let version = Version(tag) {
        .package(url: url, exact: version)
    } else {
        .package(name: "kvcodable", path: environment["KVCODABLE_PATH"] ?? "../../..")
    }

func program(_ name: String, _ products: String..., and more: [Target.Dependency] = []) -> Target {
    .executableTarget(name: name, dependencies: products.map { .product(name: $0, package: "kvcodable") } + more)
}

let package = Package(
    name: "consumer",
    dependencies: [dependency],
    targets: [
        program("Consumer", "KVCodable", "KeyValueCoder", "PropertyLists"),
        // The README's Swift, which the tests put here.
        program("Readme", "KVCodable", "KeyValueCoder", "PropertyLists"),
        // A host with LuaJIT, whose name the package that it depends on is given too.
        .systemLibrary(name: "LuaLibrary", pkgConfig: "luajit"),
        program("LuaHost", "KVCodable", "KVCodableLua", and: ["LuaLibrary"]),
    ]
)
