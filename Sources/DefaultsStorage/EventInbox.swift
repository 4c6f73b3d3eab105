internal import CSystem
internal import Glibc

/// What waits to be told to a domain's handles: events, and that something changed.
///
/// Guarded by the domain's lock. Keeps the last 256 events for handles that subscribed.
struct EventInbox {
    private struct Subscriber {
        var events: [DefaultsEvent] = []
        /// Written to when there is something to pump; below 0 for none.
        var descriptor: Int32
        var isAwake = false
    }

    private var subscribers: [ObjectIdentifier: Subscriber] = [:]
    /// What happened before anybody asked, such as a recovery at open.
    private var early: [DefaultsEvent] = []

    mutating func subscribe(_ handle: ObjectIdentifier, descriptor: Int32) {
        subscribers[handle] = Subscriber(events: early, descriptor: descriptor)
        early = []
    }

    mutating func unsubscribe(_ handle: ObjectIdentifier) { subscribers[handle] = nil }

    mutating func append(_ event: DefaultsEvent) {
        if subscribers.isEmpty { Self.append(event, to: &early) }
        for handle in subscribers.keys {
            Self.append(event, to: &subscribers[handle, default: Subscriber(descriptor: -1)].events)
            wake(handle)
        }
    }

    private static func append(_ event: DefaultsEvent, to events: inout [DefaultsEvent]) {
        if events.count >= 256 { events.removeFirst() }
        events.append(event)
    }

    /// Wakes who watches for changes.
    @inline(__always)
    mutating func noteChange() {
        if subscribers.isEmpty { return }
        for handle in subscribers.keys { wake(handle) }
    }

    private mutating func wake(_ handle: ObjectIdentifier) {
        guard let subscriber = subscribers[handle], !subscriber.isAwake, subscriber.descriptor >= 0 else { return }
        subscribers[handle]?.isAwake = true
        var one: UInt64 = 1
        _ = write(subscriber.descriptor, &one, 8)
    }

    /// The events since the last time; the handle is asleep afterwards.
    mutating func drain(_ handle: ObjectIdentifier) -> [DefaultsEvent] {
        guard var subscriber = subscribers[handle] else { return [] }
        defer { subscribers[handle] = subscriber }
        if subscriber.isAwake {
            var count: UInt64 = 0
            _ = read(subscriber.descriptor, &count, 8)
        }
        subscriber.isAwake = false
        let events = subscriber.events
        subscriber.events = []
        return events
    }
}
