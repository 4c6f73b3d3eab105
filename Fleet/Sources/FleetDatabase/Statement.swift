/// A statement and its parameters, in the server's binary form.
package struct Statement {
    let text: String
    let parameters: [Parameter]

    package init(_ text: String, _ parameters: Parameter...) {
        self.text = text
        self.parameters = parameters
    }

    static let commit = Statement("COMMIT")
    var isCommit: Bool { text == Self.commit.text }

    package struct Parameter {
        /// The server's number for the type.
        let type: UInt32
        /// nil for NULL.
        let bytes: [UInt8]?

        static func text(_ text: String?) -> Parameter { Parameter(type: 25, bytes: text.map { Array($0.utf8) }) }
        static func integer(_ value: Int64?) -> Parameter {
            Parameter(type: 20, bytes: value.map { value in withUnsafeBytes(of: value.bigEndian) { Array($0) } })
        }
        static func uuid(_ token: [UInt8]) -> Parameter { Parameter(type: 2950, bytes: token) }

        /// An array of `bytea`, counted from 1; an element that is nil is NULL.
        static func byteStrings(_ elements: [[UInt8]?]) -> Parameter {
            var bytes: [UInt8] = []
            func append(_ number: Int32) { withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) } }
            // Dimensions, whether there are NULLs, the number of the type `bytea`, count, first index.
            for number in [1, elements.contains(nil) ? 1 : 0, 17, Int32(clamping: elements.count), 1] {
                append(number)
            }
            for element in elements {
                append(element.map { Int32(clamping: $0.count) } ?? -1)
                bytes.append(contentsOf: element ?? [])
            }
            return Parameter(type: 1001, bytes: bytes)
        }
    }
}
