#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Memory of trivial elements that grows by half of what it has and can be handed on without a copy.
///
/// Documents take this memory over; they allocate some of their own only where they copy a caller's memory. Sound
/// because `Element` is trivial (`BitwiseCopyable`), because `count <= capacity` holds throughout, and because the
/// memory has one owner: this value, or the caller of `take`.
@usableFromInline package struct GrowableBuffer<Element: BitwiseCopyable>: ~Copyable {
    @usableFromInline package var base: UnsafeMutablePointer<Element>?
    @usableFromInline package var capacity = 0
    @usableFromInline package var count = 0

    package init() {}

    deinit { free(base) }

    /// Makes room for `extra` more elements. Out of memory ends the program, as everywhere in Swift.
    @inlinable package mutating func reserve(_ extra: Int) {
        if extra > capacity &- count { grow(extra) }
    }

    @inlinable package mutating func append(_ element: Element) {
        reserve(1)
        base.unsafelyUnwrapped[count] = element
        count &+= 1
    }

    @inlinable package mutating func append(_ elements: UnsafeBufferPointer<Element>) {
        guard let source = elements.baseAddress, !elements.isEmpty else { return }
        reserve(elements.count)
        (base.unsafelyUnwrapped + count).update(from: source, count: elements.count)
        count &+= elements.count
    }

    /// Element `index`, which must be below `count`.
    @inlinable package subscript(index: Int) -> Element {
        get { base.unsafelyUnwrapped[index] }
        set { base.unsafelyUnwrapped[index] = newValue }
    }

    /// The elements as they are now; valid until the buffer changes.
    @inlinable package var contents: UnsafeBufferPointer<Element> { UnsafeBufferPointer(start: base, count: count) }

    /// Gives the memory, cut to size, to the caller, who frees it; the buffer is empty afterwards.
    package mutating func take() -> UnsafeMutablePointer<Element>? {
        let size = max(count, 1) * MemoryLayout<Element>.stride
        let slack = (capacity - count) * MemoryLayout<Element>.stride
        let block = slack > 64 ? realloc(base, size)?.assumingMemoryBound(to: Element.self) ?? base : base
        base = nil
        capacity = 0
        count = 0
        return block
    }

    /// Gives back memory that is not in use.
    package mutating func trim() {
        guard count < capacity, let block = realloc(base, max(count, 1) * MemoryLayout<Element>.stride) else { return }
        base = block.assumingMemoryBound(to: Element.self)
        capacity = max(count, 1)
    }

    @usableFromInline package mutating func grow(_ extra: Int) {
        let wanted = max(count + extra, capacity + capacity / 2, 16)
        let (size, overflow) = wanted.multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
        guard !overflow, let block = realloc(base, size) else { outOfMemory() }
        base = block.bindMemory(to: Element.self, capacity: wanted)
        capacity = wanted
    }

    private func outOfMemory() -> Never {
        // As the Swift runtime does when an allocation fails: no caller could go on.
        abort()
    }
}
