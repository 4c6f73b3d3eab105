import Foundation
import PropertyLists
import Testing

/// Story 5, over files: products that an older version archived by NSCoding are read without their class, and saved as
/// plain values from then on.
@Suite struct StoryMigrationTests {
    struct Product: Codable, Equatable {
        var title: String
        var price: Double
        var quantity: Int
    }

    static let products = [
        Product(title: "Tea", price: 4.5, quantity: 2), Product(title: "Café", price: 7.25, quantity: 1),
    ]

    /// What the older version wrote: an array of objects of its class.
    private static func archive() throws -> Data {
        NSKeyedArchiver.setClassName("Shop.Product", for: ArchivedProduct.self)
        return try NSKeyedArchiver.archivedData(
            withRootObject: products.map(ArchivedProduct.init) as NSArray, requiringSecureCoding: false)
    }

    /// The newer version's reader: the same for both forms.
    private static func read(_ file: URL) throws -> [Product] {
        var list = try PropertyList(parsing: Array(try Data(contentsOf: file)))
        if let value = list["products"] { list = value }
        if list.isKeyedArchive { list = try list.unarchived() }
        return try list.elements.map { product in
            Product(
                title: try #require(product["title"]?.string), price: try #require(product["price"]?.number),
                quantity: Int(try #require(product["quantity"]?.integer)))
        }
    }

    private static func inFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "story-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test("reads an archive as a file, saves the plain form, and reads that the same way")
    func file() throws {
        try Self.inFolder { folder in
            let file = folder.appending(path: "products")
            try Self.archive().write(to: file)
            #expect(try Self.read(file) == Self.products)
            let plain = try PropertyList(parsing: Array(try Data(contentsOf: file))).unarchived()
            try Data(try plain.serialized(as: .xml)).write(to: file)
            #expect(try Self.read(file) == Self.products)
            #expect(try PropertyListDecoder().decode([Product].self, from: Data(contentsOf: file)) == Self.products)
        }
    }

    @Test("reads an archive as data inside a preference, and replaces only that")
    func preference() throws {
        try Self.inFolder { folder in
            let file = folder.appending(path: "preferences.plist")
            let old: [String: Any] = ["products": try Self.archive(), "window": "{{0, 0}, {640, 480}}"]
            try PropertyListSerialization.data(fromPropertyList: old, format: .xml, options: 0).write(to: file)
            #expect(try Self.read(file) == Self.products)
            let list = try PropertyList(parsing: Array(try Data(contentsOf: file)))
            let plain = try #require(list["products"]).unarchived()
            try Data(try list.setting(plain, at: ["products"]).serialized(as: .xml)).write(to: file)
            #expect(try Self.read(file) == Self.products)
            #expect(
                try PropertyList(parsing: Array(Data(contentsOf: file)))["window"]?.string == "{{0, 0}, {640, 480}}")
        }
    }

    @Test("gives an error for a damaged archive, wherever it is cut or changed")
    func damaged() throws {
        let archive = Array(try Self.archive())
        for length in 0..<archive.count {
            let error = propertyListError { _ = try PropertyList(parsing: Array(archive[..<length])).unarchived() }
            #expect(error != nil, "cut to \(length) bytes")
        }
        for position in 0..<archive.count {
            var changed = archive
            changed[position] ^= 0x55
            // Either an error or another tree, and never a crash.
            _ = propertyListError { _ = try PropertyList(parsing: changed).unarchived() }
        }
    }
}

final class ArchivedProduct: NSObject, NSCoding {
    let product: StoryMigrationTests.Product

    init(_ product: StoryMigrationTests.Product) { self.product = product }

    init?(coder: NSCoder) { nil }

    func encode(with coder: NSCoder) {
        coder.encode(product.title as NSString, forKey: "title")
        coder.encode(product.price, forKey: "price")
        coder.encode(product.quantity, forKey: "quantity")
    }
}
