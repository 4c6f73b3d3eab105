import Foundation
import KVCodable
import KeyValueCoding
import PropertyLists
import Testing

struct Product: Codable, Equatable, Sendable {
    var title: String
    var price: Double
    var quantity: Int
}

/// The class of the older version, which the newer one does not have. (Not private: NSKeyedArchiver wants its name.)
final class ArchivedProduct: NSObject, NSCoding {
    let product: Product

    init(_ product: Product) { self.product = product }

    init?(coder: NSCoder) { nil }

    func encode(with coder: NSCoder) {
        coder.encode(product.title as NSString, forKey: "title")
        coder.encode(product.price, forKey: "price")
        coder.encode(product.quantity, forKey: "quantity")
    }
}

private let products = [
    Product(title: "Tea", price: 4.5, quantity: 2), Product(title: "Café", price: 7.25, quantity: 1),
]

/// The value that the older version wrote: an array of objects of its class.
private func archive() throws -> Data {
    NSKeyedArchiver.setClassName("Shop.Product", for: ArchivedProduct.self)
    return try NSKeyedArchiver.archivedData(
        withRootObject: products.map(ArchivedProduct.init) as NSArray, requiringSecureCoding: false)
}

/// Story 5: from NSCoding to Codable.
@Suite struct Story5MigrationTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The newer version's reader: the same for both forms.
    private func readProducts(_ path: String) throws -> [Product]? {
        guard let list = try PropertyListFile.read(path)?.list else { return nil }
        return try KeyValueDecoder().decode([Product].self, from: list.isKeyedArchive ? try list.unarchived() : list)
    }

    @Test("reads an archive as a file, saves the plain form, and reads that the same way")
    func file() throws {
        let path = folder.file("products")
        try archive().write(to: URL(fileURLWithPath: path))
        #expect(try readProducts(path) == products)
        try write(products, to: path)
        #expect(try readProducts(path) == products)
        #expect(
            try PropertyListDecoder().decode([Product].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
                == products)
    }

    @Test("reads an archive in a preference, migrates it once, and replaces only that", arguments: [false, true])
    func preference(keepsOld: Bool) throws {
        let path = folder.file("preferences.plist")
        let old: [String: Any] = ["products": try archive(), "window": "{{0, 0}, {640, 480}}"]
        try PropertyListSerialization.data(fromPropertyList: old, format: .xml, options: 0)
            .write(to: URL(fileURLWithPath: path))
        let store = try DefaultsStore.open(path: path)
        #expect(throws: DecodingError.self) { try store.decode([Product].self, forKey: "products") }
        let kept = keepsOld ? "products.archive" : nil
        #expect(try store.migrateArchive([Product].self, forKey: "products", keepingOldAs: kept))
        #expect(try !store.migrateArchive([Product].self, forKey: "products", keepingOldAs: kept))
        #expect(try store.decode([Product].self, forKey: "products") == products)
        #expect(try store.value(at: ["products", 0, "title"])?.string == "Tea")
        #expect(try store.value(forKey: "window")?.string == "{{0, 0}, {640, 480}}")
        #expect(try (store.value(forKey: "products.archive") != nil) == keepsOld)
        try store.close()
    }

    // proves: G79
    @Test("gives an error for a damaged archive, wherever it is cut or changed")
    func damaged() throws {
        let archive = Array(try archive())
        for length in 0..<archive.count {
            #expect(throws: PropertyListError.self, "cut to \(length) bytes") {
                try PropertyList(parsing: Array(archive[..<length])).unarchived()
            }
        }
        for position in 0..<archive.count {
            var changed = archive
            changed[position] ^= 0x55
            // Either an error or another tree, and never a crash.
            do throws(PropertyListError) {
                _ = try PropertyList(parsing: changed).unarchived()
            } catch {
                #expect(!error.message.isEmpty)
            }
        }
    }
}
