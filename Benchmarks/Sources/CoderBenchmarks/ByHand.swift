import Foundation
import PropertyLists

// The floor: code written by hand for the one type, without a coder.

struct WrongShape: Error {}

extension Record {
    var dictionary: [String: Any] {
        var entries = [String: Any](minimumCapacity: 8)
        entries["id"] = id
        entries["name"] = name
        entries["score"] = score
        entries["active"] = active
        entries["size"] = ["width": size.width, "height": size.height] as [String: Any]
        if let note { entries["note"] = note }
        entries["tags"] = tags.map { $0 as Any }
        entries["created"] = created
        return entries
    }

    init(dictionary: Any) throws {
        guard let entries = dictionary as? [String: Any], let id = entries["id"] as? Int,
            let name = entries["name"] as? String, let score = entries["score"] as? Double,
            let active = entries["active"] as? Bool, let size = entries["size"] as? [String: Any],
            let width = size["width"] as? Double, let height = size["height"] as? Double,
            let tags = entries["tags"] as? [Any], let created = entries["created"] as? Date
        else { throw WrongShape() }
        self.init(
            id: id, name: name, score: score, active: active, size: Size(width: width, height: height),
            note: entries["note"] as? String,
            tags: try tags.map { tag in
                guard let tag = tag as? String else { throw WrongShape() }
                return tag
            },
            created: created)
    }

    func append(to builder: inout PropertyListBuilder) throws {
        try builder.beginDictionary()
        try builder.key("id")
        try builder.append(integer: Int64(id))
        try builder.key("name")
        try builder.append(string: name)
        try builder.key("score")
        try builder.append(real: score)
        try builder.key("active")
        try builder.append(boolean: active)
        try builder.key("size")
        try builder.beginDictionary()
        try builder.key("width")
        try builder.append(real: size.width)
        try builder.key("height")
        try builder.append(real: size.height)
        try builder.end()
        if let note {
            try builder.key("note")
            try builder.append(string: note)
        }
        try builder.key("tags")
        try builder.beginArray()
        for tag in tags { try builder.append(string: tag) }
        try builder.end()
        try builder.key("created")
        try builder.append(date: created.timeIntervalSinceReferenceDate)
        try builder.end()
    }

    init(list: PropertyList) throws {
        guard let id = list["id"]?.integer, let name = list["name"]?.string, let score = list["score"]?.real,
            let active = list["active"]?.boolean, let size = list["size"], let width = size["width"]?.real,
            let height = size["height"]?.real, let tags = list["tags"], let created = list["created"]?.date
        else { throw WrongShape() }
        self.init(
            id: Int(id), name: name, score: score, active: active, size: Size(width: width, height: height),
            note: list["note"]?.string,
            tags: try tags.elements.map { tag in
                guard let tag = tag.string else { throw WrongShape() }
                return tag
            },
            created: Date(timeIntervalSinceReferenceDate: created))
    }
}
