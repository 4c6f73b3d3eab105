// A package that uses this one's products: a store, the coders alone, property lists alone.
import KVCodable
import KeyValueCoder
import PropertyLists

struct Window: Codable, Equatable {
    var width: Int
    var title: String?
}

struct Different: Error {}

func check(_ isSame: Bool) throws {
    guard isSame else { throw Different() }
}

let window = Window(width: 640, title: "Main")

let store = try DefaultsStore.open("org.example.consumer")
try store.encode(window, forKey: "window")
try check(store.decode(Window.self, forKey: "window") == window)
try store.close()

let value = try KeyValueEncoder().encode(window) as Any
try check(KeyValueDecoder().decode(Window.self, from: value) == window)

let list = try PropertyList.parse(Array("{\"width\": 640}".utf8)).list
try check(list["width"]?.integer == 640)

print("kvcodable \(libraryVersion)")
