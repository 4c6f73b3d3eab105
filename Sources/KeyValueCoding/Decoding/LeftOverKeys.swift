public import FoundationEssentials

/// Keys in the decoded dictionaries that decoding did not ask for, as strict decoding finds them.
///
/// A key counts as asked for when `init(from:)` looked for it, whether or not it decoded the value. The keys of a
/// dictionary that is decoded as one, as `[String: Int]`, are all asked for.
///
/// ```swift
/// struct Page: Codable { var title: String }
/// var decoder = KeyValueDecoder()
/// decoder.leftOverKeyDecodingStrategy = .report { keys in print(keys) }  // SELF.note
/// let page = try decoder.decode(Page.self, from: ["title": "Home", "note": "new"])
/// print(page.title)  // Home
/// ```
public struct LeftOverKeys: Error, Sendable, CustomStringConvertible {
    /// The path of each key, the key last, as they are named in the data; in the order of names and indexes.
    public let paths: [[any CodingKey]]
    /// The paths as errors print them: `SELF.items[1].note, SELF.title`; of a value in a store
    /// `window.items[1].note, window.title`.
    public let description: String

    init(_ paths: [[any CodingKey]], _ context: DecodingContext) {
        self.paths = paths
        description = paths.map { $0.text(in: context.location) }.joined(separator: ", ")
    }

    /// The error that strict decoding throws. Its path is the first key's.
    var error: DecodingError {
        .dataCorrupted(
            .init(
                codingPath: paths.first ?? [], debugDescription: "Keys are left over: \(self)", underlyingError: self))
    }
}

extension LeftOverKeys: LocalizedError {
    /// The whole message, so that `localizedDescription` names the keys.
    public var errorDescription: String? { description }
}
