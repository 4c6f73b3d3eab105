import Foundation
import KVCodable
import PropertyLists
import Testing

/// A value that no property list holds.
private final class Color: Equatable, Sendable {
    let red, green, blue, alpha: Double

    init?(_ values: [Double]) {
        guard values.count == 4 else { return nil }
        (red, green, blue, alpha) = (values[0] / 255, values[1] / 255, values[2] / 255, values[3])
    }

    var values: [Double] { [red * 255, green * 255, blue * 255, alpha] }

    static let black = Color(0, 0, 0)

    private init(_ red: Double, _ green: Double, _ blue: Double) {
        (self.red, self.green, self.blue, alpha) = (red, green, blue, 1)
    }

    static func == (left: Color, right: Color) -> Bool { left.values == right.values }
}

private final class Image {
    let data: Data

    init?(_ data: Data) {
        guard !data.isEmpty else { return nil }
        self.data = data
    }
}

private final class Shape: Codable {
    var width = 0.0
    var height = 0.0
    var borderWidth = 0.0
    var cornerRadius = 0.0
    var isVisible = true
    var background = Color.black
    var border = Color.black
    var pattern: Image?

    enum CodingKeys: String, CodingKey {
        case width, height, borderWidth, cornerRadius, isVisible
        case backgroundColorValues, borderColorValues, patternImageData
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        width = try container.decode(Double.self, forKey: .width)
        height = try container.decode(Double.self, forKey: .height)
        borderWidth = try container.decode(Double.self, forKey: .borderWidth)
        cornerRadius = try container.decode(Double.self, forKey: .cornerRadius)
        isVisible = try container.decode(Bool.self, forKey: .isVisible)
        background = Color(try container.decode([Double].self, forKey: .backgroundColorValues)) ?? background
        border = Color(try container.decode([Double].self, forKey: .borderColorValues)) ?? border
        pattern = try container.decodeIfPresent(Data.self, forKey: .patternImageData).flatMap(Image.init)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(width, forKey: .width)
        try container.encode(height, forKey: .height)
        try container.encode(borderWidth, forKey: .borderWidth)
        try container.encode(cornerRadius, forKey: .cornerRadius)
        try container.encode(isVisible, forKey: .isVisible)
        try container.encode(background.values, forKey: .backgroundColorValues)
        try container.encode(border.values, forKey: .borderColorValues)
        try container.encodeIfPresent(pattern?.data, forKey: .patternImageData)
    }
}

/// Story 1: types that a property list cannot hold.
@Suite struct Story1UnsupportedTypeTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("reads a default shape, changes it, and saves it as another file")
    func shape() throws {
        let shape = try #require(try read(Shape.self, from: folder.copy(of: "DefaultShape.plist")))
        #expect(shape.width == 200)
        #expect(shape.background.values == [255, 204, 0, 1])
        #expect(shape.border == .black, "an array of three numbers leaves the default")
        #expect(shape.pattern == nil, "empty data is no image")

        shape.width = 300
        shape.height = 150
        shape.background = try #require(Color([255, 0, 0, 0.5]))
        shape.border = try #require(Color([0, 51, 255, 1]))
        shape.borderWidth = 2.5
        shape.cornerRadius = 12
        try write(shape, to: folder.file("myShape.plist"))

        let list = try #require(try PropertyListFile.read(folder.file("myShape.plist"))).list
        let expected: [String: Any] = [
            "width": 300.0, "height": 150.0, "borderWidth": 2.5, "cornerRadius": 12.0, "isVisible": true,
            "backgroundColorValues": [255.0, 0.0, 0.0, 0.5], "borderColorValues": [0.0, 51.0, 255.0, 1.0],
        ]
        #expect(try list == PropertyList(any: expected), "no image leaves the key out")
    }

    @Test("keeps an image's bytes")
    func image() throws {
        let shape = try #require(try read(Shape.self, from: folder.copy(of: "DefaultShape.plist")))
        shape.pattern = Image(Data([0x89, 0x50]))
        try write(shape, to: folder.file("myShape.plist"))
        let again = try #require(try read(Shape.self, from: folder.file("myShape.plist")))
        #expect(again.pattern?.data == Data([0x89, 0x50]))
    }

    @Test("a value of the wrong type is an error with its path")
    func wrongType() throws {
        let path = folder.file("wrong.plist")
        try Data(#"{"width": "wide"}"#.utf8).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: DecodingError.self) { try read(Shape.self, from: path) }
        guard case .typeMismatch(_, let context)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.debugDescription == "Expected Double at SELF.width, found String")
    }
}
