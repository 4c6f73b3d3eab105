import PropertyLists

/// What must hold of every value that was read: written in a format that can hold it, it reads back equal, and the
/// same bytes come out again. A violation ends the program, which is a finding.
func checkRoundTrips(_ list: PropertyList) {
    for format in [PropertyListFormat.binary, .xml, .json] {
        guard let written = try? list.serialized(as: format) else { continue }
        guard let again = try? PropertyList(parsing: written, as: format, limits: deepest) else {
            fatalError("\(format) does not read back")
        }
        guard (try? again.serialized(as: format)) == written else { fatalError("\(format) is written in two ways") }
        guard format != .binary && isAmbiguous(list) || again == list else {
            fatalError("\(format) reads back as something else")
        }
    }
}

let deepest = PropertyListLimits(depth: PropertyListLimits.maximumDepth)

/// Whether text cannot tell a value in here from another: the dictionary `{CF$UID: 1}` from the UID 1 in XML, one nan
/// from another.
private func isAmbiguous(_ list: PropertyList) -> Bool {
    if let real = list.real { return real.isNaN }
    if list["CF$UID"] != nil { return true }
    return list.entries.contains { isAmbiguous($0.value) } || list.elements.contains(where: isAmbiguous)
}

/// What must hold of a file that is written anew around its comments: it reads back as the value, also where that has
/// changed, and a second time the same bytes come out.
func checkLayout(_ data: UnsafePointer<UInt8>?, _ size: Int, _ list: PropertyList) {
    let old = [UInt8](UnsafeBufferPointer(start: data, count: size))
    for value in [list, changed(list)] {
        guard let written = try? value.serialized(inLayoutOf: old, limits: deepest) else { continue }
        guard let again = try? PropertyList(parsing: written, as: .xml, limits: deepest) else {
            fatalError("a layout does not read back")
        }
        if isAmbiguous(value) { continue }
        guard again == value else { fatalError("a layout reads back as something else") }
        guard (try? value.serialized(inLayoutOf: written, limits: deepest)) == written else {
            fatalError("a layout is written in two ways")
        }
    }
}

/// The value with elements and entries that are gone, moved, new, and changed.
private func changed(_ list: PropertyList) -> PropertyList {
    var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
    do {
        try appendChanged(list, to: &builder)
        return try builder.finish()
    } catch {
        return list
    }
}

private func appendChanged(_ list: PropertyList, to builder: inout PropertyListBuilder) throws {
    switch list.kind {
    case .array:
        try builder.beginArray()
        for (index, element) in list.elements.reversed().enumerated() where index % 3 != 1 {
            try appendChanged(element, to: &builder)
        }
        try builder.append(date: 0.5)
        try builder.end()
    case .dictionary:
        try builder.beginDictionary()
        for (index, entry) in list.entries.enumerated() where index % 3 != 1 {
            try builder.key(entry.key)
            if index % 5 == 2 { try builder.append(date: 0) } else { try appendChanged(entry.value, to: &builder) }
        }
        try builder.key("a")
        try builder.append(list)
        try builder.end()
    case .integer: try builder.append(date: Double((list.integer ?? 0) & 0xFFFF_FFFF))
    default: try builder.append(list)
    }
}

/// Reads a fuzzer's input as one format; nil if the reader refuses it.
func read(_ data: UnsafePointer<UInt8>?, _ size: Int, as format: PropertyListFormat?) -> PropertyList? {
    // Fewer than by default: the checks of a tree take long, not the reader.
    let limits = PropertyListLimits(expandedNodes: 5000)
    return try? PropertyList(parsing: UnsafeRawBufferPointer(start: data, count: size), as: format, limits: limits)
}
