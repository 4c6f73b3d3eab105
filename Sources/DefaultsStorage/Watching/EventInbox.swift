internal import CKVSystem
internal import Glibc

/// The news that a domain keeps for its handles until they pump: events, and that something has changed.
///
/// Guarded by the domain's lock. Keeps the last 256 events for handles that subscribed.
struct EventInbox {
    private struct Subscriber {
        let handle: ObjectIdentifier
        var events: [DefaultsEvent]
        /// Whether the handle searches the domain as a layer: of its events the handle gets
        /// ``DefaultsEvent/unreadable(_:)`` alone.
        var isLayer = false
        /// Its descriptor is written to when there is something to pump.
        let list: WatchList
        var isAwake = false
    }

    private var subscribers: [Subscriber] = []
    /// Events from before the first subscriber, such as a recovery at open.
    private var early: [DefaultsEvent] = []
    /// The first change since the last sync that another program's change took the place of.
    var dropped: DefaultsError?

    /// Keeps events and changes for a handle.
    mutating func subscribe(_ handle: ObjectIdentifier, _ list: WatchList) {
        // The handle may search the same domain as a layer, and have subscribed so.
        unsubscribe(handle)
        subscribers.append(Subscriber(handle: handle, events: early, list: list))
        early = []
    }

    /// Tells changes to a handle that searches the domain as one of its layers.
    mutating func subscribeToChanges(_ handle: ObjectIdentifier, _ list: WatchList) {
        guard !subscribers.contains(where: { $0.handle == handle }) else { return }
        subscribers.append(Subscriber(handle: handle, events: [], isLayer: true, list: list))
    }

    mutating func unsubscribe(_ handle: ObjectIdentifier) { subscribers.removeAll { $0.handle == handle } }

    mutating func append(_ event: DefaultsEvent) {
        var isKept = false
        for index in subscribers.indices where !subscribers[index].isLayer || event.isForLayers {
            Self.append(event, to: &subscribers[index].events)
            wake(index)
            isKept = true
        }
        if isKept { return }
        Self.append(event, to: &early)
    }

    private static func append(_ event: DefaultsEvent, to events: inout [DefaultsEvent]) {
        if events.count >= 256 { events.removeFirst() }
        events.append(event)
    }

    /// Wakes the subscribers, since a value may have changed.
    mutating func wake() { for index in subscribers.indices { wake(index) } }

    private mutating func wake(_ index: Int) {
        guard !subscribers[index].isAwake else { return }
        subscribers[index].isAwake = true
        let shield = CancellationShield.raised()
        var one: UInt64 = 1
        _ = write(subscribers[index].list.eventDescriptor, &one, 8)
        shield.lower()
    }

    /// The events since the last time; the next one wakes the handle again.
    mutating func drain(_ handle: ObjectIdentifier) -> [DefaultsEvent] {
        guard let index = subscribers.firstIndex(where: { $0.handle == handle }) else { return [] }
        subscribers[index].isAwake = false
        defer { subscribers[index].events = [] }
        return subscribers[index].events
    }
}

extension DefaultsEvent {
    fileprivate var isForLayers: Bool {
        if case .unreadable = self { true } else { false }
    }
}
