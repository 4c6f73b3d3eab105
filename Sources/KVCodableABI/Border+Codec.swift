internal import CKVCodable
internal import PropertyLists

extension kv_format {
    /// nil for `KV_FORMAT_ANY`.
    func format() throws(Failure) -> PropertyListFormat? {
        switch self {
        case KV_FORMAT_ANY: nil
        case KV_FORMAT_XML: .xml
        case KV_FORMAT_BINARY: .binary
        case KV_FORMAT_OPENSTEP: .openStep
        case KV_FORMAT_JSON: .json
        default: throw .invalidArgument("\(rawValue) is no kv_format")
        }
    }

    init(_ format: PropertyListFormat) {
        switch format {
        case .xml: self = KV_FORMAT_XML
        case .binary: self = KV_FORMAT_BINARY
        case .openStep: self = KV_FORMAT_OPENSTEP
        case .json: self = KV_FORMAT_JSON
        }
    }
}
