import Foundation
import KVCodable
import KeyValueCoding
import PropertyLists
import Testing

/// Stored under another name, and with something that is not stored at all.
private struct User: Codable, Equatable {
    var name: String
    var isSelected = false

    enum CodingKeys: String, CodingKey {
        case name = "username"
    }
}

/// One property in the program, two in the file.
private struct Person: Codable, Equatable {
    var name: String

    enum CodingKeys: String, CodingKey {
        case firstName, lastName
    }

    init(name: String) { self.name = name }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let first = try container.decode(String.self, forKey: .firstName)
        name = first + " " + (try container.decode(String.self, forKey: .lastName))
    }

    func encode(to encoder: any Encoder) throws {
        let parts = name.split(separator: " ", maxSplits: 1).map(String.init)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(parts.first ?? "", forKey: .firstName)
        try container.encode(parts.dropFirst().first ?? "", forKey: .lastName)
    }
}

/// The owner of its objects, as a context owns managed objects.
private final class Catalogue: Sendable {
    let currency: String

    init(currency: String) { self.currency = currency }
}

extension CodingUserInfoKey {
    fileprivate static let catalogue = CodingUserInfoKey(rawValue: "catalogue")
}

private final class Item: Codable {
    let title: String
    let catalogue: Catalogue

    enum CodingKeys: String, CodingKey {
        case title
    }

    init(from decoder: any Decoder) throws {
        guard let key = CodingUserInfoKey.catalogue, let catalogue = decoder.userInfo[key] as? Catalogue else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "Expected a catalogue in userInfo"))
        }
        self.catalogue = catalogue
        title = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .title)
    }
}

/// A class that cannot be made Codable, since it is not ours.
private final class Place {
    let latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed, floor: Double
    let timestamp: Date

    init(_ numbers: [Double], timestamp: Date) {
        (latitude, longitude, altitude, horizontalAccuracy) = (numbers[0], numbers[1], numbers[2], numbers[3])
        (verticalAccuracy, course, speed, floor) = (numbers[4], numbers[5], numbers[6], numbers[7])
        self.timestamp = timestamp
    }
}

/// Its stored form.
private struct StoredPlace: Codable {
    var latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed, floor: Double
    var timestamp: Date

    init(_ place: Place) {
        (latitude, longitude, altitude) = (place.latitude, place.longitude, place.altitude)
        (horizontalAccuracy, verticalAccuracy) = (place.horizontalAccuracy, place.verticalAccuracy)
        (course, speed, floor, timestamp) = (place.course, place.speed, place.floor, place.timestamp)
    }

    var place: Place {
        Place(
            [latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed, floor],
            timestamp: timestamp)
    }
}

/// Story 2: renamed, joined and context-dependent properties.
@Suite struct Story2RenamedPropertyTests {
    let store: DefaultsStore

    init() throws { store = try memoryStore() }

    private func stored(_ key: String) throws -> PropertyList? { try store.value(forKey: key) }

    @Test("a property is stored under another name, one is not stored")
    func renamed() throws {
        try store.encode(User(name: "anna", isSelected: true), forKey: "user")
        #expect(try stored("user") == PropertyList(any: ["username": "anna"]))
        #expect(try store.decode(User.self, forKey: "user") == User(name: "anna", isSelected: false))
    }

    @Test("two stored values are one in the program")
    func joined() throws {
        try store.encode(Person(name: "Ada King Lovelace"), forKey: "person")
        #expect(try stored("person") == PropertyList(any: ["firstName": "Ada", "lastName": "King Lovelace"]))
        #expect(try store.decode(Person.self, forKey: "person") == Person(name: "Ada King Lovelace"))
    }

    @Test("a context is handed in; where it is missing that is an error")
    func context() throws {
        let value: [String: Any] = ["title": "Tea"]
        var decoder = KeyValueDecoder()
        let error = #expect(throws: DecodingError.self) { try decoder.decode(Item.self, from: value) }
        guard case .dataCorrupted(let context)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.debugDescription == "Expected a catalogue in userInfo")
        let key = try #require(CodingUserInfoKey.catalogue)
        decoder.userInfo[key] = Catalogue(currency: "EUR")
        let item = try decoder.decode(Item.self, from: value)
        #expect(item.title == "Tea" && item.catalogue.currency == "EUR")
    }

    @Test("a class that cannot be Codable goes by way of a plain struct")
    func plainStruct() throws {
        let place = Place([48.1, 11.5, 520, 5, 3, 90, 1.4, 2], timestamp: Date(timeIntervalSinceReferenceDate: 8.5))
        try store.encode(StoredPlace(place), forKey: "place")
        let again = try #require(try store.decode(StoredPlace.self, forKey: "place")).place
        #expect(again.latitude == 48.1 && again.floor == 2 && again.timestamp == place.timestamp)
        #expect(try store.value(at: ["place", "timestamp"])?.date == 8.5)
    }
}
