import Glibc
import KVCodable

/// What the program reads of its store, with its defaults.
struct Settings: Decodable {
    var volume: UInt8 = 7
    var quit = false

    private enum CodingKeys: String, CodingKey { case volume, quit }

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        volume = try container.decodeIfPresent(UInt8.self, forKey: .volume) ?? volume
        quit = try container.decodeIfPresent(Bool.self, forKey: .quit) ?? quit
    }

    /// Reads them again: a value that is gone is its default, and one of a wrong type leaves all as they were.
    mutating func read(_ store: DefaultsStore) {
        do {
            self = try store.decode(Settings.self, at: []) ?? Settings()
        } catch {
            print(error)
        }
        print("the volume is \(volume)")
        fflush(nil)
    }
}

/// The program's loop: sleeps until there may be something to tell, and takes up what others change: a script, another
/// program, a person with an editor.
func follow(_ store: DefaultsStore, seconds: Double) throws {
    var settings = Settings()
    settings.read(store)
    let watch = try store.watch(.everything) { _ in }
    defer { watch.cancel() }
    var poller = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
    let end = time(nil) + time_t(seconds)
    while !settings.quit, time(nil) < end {
        poll(&poller, 1, 500)
        if try store.pump() > 0 { settings.read(store) }
    }
}
