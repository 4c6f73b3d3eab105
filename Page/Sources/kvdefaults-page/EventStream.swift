/// Server-sent events, in the words of the protocol.
enum EventStream {
    /// An event. JSON on one line has no line breaks in it.
    static func event(_ name: String, _ json: [UInt8]) -> [UInt8] {
        Array("event: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8)
    }

    /// The event that shows the connection is alive, and finds out where it is not.
    static let sign = Array(": \n\n".utf8)
}
