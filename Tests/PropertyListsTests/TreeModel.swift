import PropertyLists

/// A slow and obvious tree to compare the flat one with.
indirect enum TreeModel: Equatable {
    case integer(Int64)
    case string(String)
    case array([TreeModel])
    case dictionary([String: TreeModel])

    var list: PropertyList {
        get throws {
            var builder = PropertyListBuilder()
            try append(to: &builder)
            return try builder.finish()
        }
    }

    private func append(to builder: inout PropertyListBuilder) throws {
        switch self {
        case .integer(let value): try builder.append(integer: value)
        case .string(let value): try builder.append(string: value)
        case .array(let elements):
            try builder.beginArray()
            for element in elements { try element.append(to: &builder) }
            try builder.end()
        case .dictionary(let entries):
            try builder.beginDictionary()
            for (key, value) in entries {
                try builder.key(key)
                try value.append(to: &builder)
            }
            try builder.end()
        }
    }

    /// The model with `value` at `path`; nil where the rules of setting forbid it.
    func setting(_ value: TreeModel, at path: ArraySlice<PropertyListPath.Step>) -> TreeModel? {
        guard let step = path.first else { return value }
        switch (self, step) {
        case (.dictionary(var entries), .key(let key)):
            let inner = entries[key].map { $0.setting(value, at: path.dropFirst()) }
            guard let changed = inner ?? value.wrapped(in: path.dropFirst()) else { return nil }
            entries[key] = changed
            return .dictionary(entries)
        case (.array(var elements), .index(let index)) where index >= 0 && index <= elements.count:
            let inner = index < elements.count ? elements[index].setting(value, at: path.dropFirst()) : nil
            if index < elements.count && inner == nil { return nil }
            guard let changed = inner ?? value.wrapped(in: path.dropFirst()) else { return nil }
            if index < elements.count { elements[index] = changed } else { elements.append(changed) }
            return .array(elements)
        default: return nil
        }
    }

    func removing(_ path: ArraySlice<PropertyListPath.Step>) -> TreeModel? {
        guard let step = path.first else { return nil }
        switch (self, step) {
        case (.dictionary(var entries), .key(let key)):
            guard let old = entries[key] else { return nil }
            if path.count > 1, let changed = old.removing(path.dropFirst()) {
                entries[key] = changed
                return .dictionary(entries)
            }
            if path.count > 1 { return nil }
            entries[key] = nil
            return .dictionary(entries)
        case (.array(var elements), .index(let index)) where elements.indices.contains(index):
            if path.count > 1 {
                guard let changed = elements[index].removing(path.dropFirst()) else { return nil }
                elements[index] = changed
            } else {
                elements.remove(at: index)
            }
            return .array(elements)
        default: return nil
        }
    }

    private func wrapped(in path: ArraySlice<PropertyListPath.Step>) -> TreeModel? {
        guard let step = path.first else { return self }
        guard case .key(let key) = step, let inner = wrapped(in: path.dropFirst()) else { return nil }
        return .dictionary([key: inner])
    }
}
