import FlyingSocks

/// The bytes of server-sent events, each written as soon as it is there.
struct EventStream: AsyncBufferedSequence {
    typealias Element = UInt8

    let events: AsyncStream<[UInt8]>

    /// An event in the words of the protocol. JSON on one line has no line breaks in it.
    static func event(_ name: String, _ json: [UInt8]) -> [UInt8] {
        Array("event: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8)
    }

    /// What says that the connection is alive, and finds out where it is not.
    static let sign = Array(": \n\n".utf8)

    func makeAsyncIterator() -> Iterator { Iterator(events: events.makeAsyncIterator()) }

    struct Iterator: AsyncBufferedIteratorProtocol {
        var events: AsyncStream<[UInt8]>.Iterator
        private var rest: ArraySlice<UInt8> = []

        init(events: AsyncStream<[UInt8]>.Iterator) { self.events = events }

        mutating func next() async -> UInt8? {
            if rest.isEmpty { rest = await events.next()?[...] ?? [] }
            return rest.popFirst()
        }

        mutating func nextBuffer(suggested count: Int) async -> ArraySlice<UInt8>? {
            defer { rest = [] }
            return rest.isEmpty ? await events.next()?[...] : rest
        }
    }
}
