internal import PropertyLists

/// The outcome of a look of the server's thread.
enum ServerLook {
    case done
    /// Another thread is at the domain, which looks by itself or is to be waited for.
    case busy
    case failed(DefaultsError)
}

extension Domain {
    /// Takes up the changes of others, on the server's thread, over its connection.
    func takeUpFromServer(over connection: PostgreSQLConnection) -> ServerLook {
        guard let engine = engine as? PostgreSQLEngine, lock.withLock({ isLoaded }),
            writerLock.acquire(until: .after(.zero))
        else { return .busy }
        defer { writerLock.release() }
        engine.lent = connection
        defer { engine.lent = nil }
        do throws(DefaultsError) {
            try takeUp(try refreshEngine(until: .after(engine.timeout)))
            return .done
        } catch {
            return .failed(error)
        }
    }

    /// Keeps the values that were seen last for the time when the server is away; false where it is to be tried again.
    func keepForAway() -> Bool {
        guard let engine = engine as? PostgreSQLEngine, let cache = engine.cache else { return true }
        guard writerLock.acquire(until: .after(.zero)) else { return false }
        // Keys that cannot be read would be absent from the cache.
        guard engine.damagedKeys.isEmpty else {
            writerLock.release()
            return true
        }
        let revision = engine.seen
        let isKept = revision == engine.kept
        let (isBack, limits) = (engine.isBack, engine.limits)
        engine.kept = revision
        engine.isBack = false
        // The writer lock keeps both as they are; gets go on meanwhile.
        let (base, committed) = lock.withLock { (self.base, self.committed) }
        let values = isKept ? nil : try? committed?.applied(to: base) ?? base
        writerLock.release()
        if let values, let revision { try? cache.write(values, revision, isBack: isBack, limits) }
        return true
    }
}
