extension TypeRegistry {
    /// The name, the example and the field names by which other languages know a Swift type.
    ///
    /// ```swift
    /// struct User: Codable { var name: String }
    /// var registration = TypeRegistry.Registration(name: "User", example: User(name: "Ada"))
    /// registration.names = ["name": "full_name"]  // the field's name for scripts
    /// try TypeRegistry.default.register(User.self, registration)
    /// ```
    public struct Registration<T: Codable & SendableMetatype> {
        /// The name of the type in expressions: `User`, `[User]?`.
        public var name: String
        /// A value that describes the type: its encoding, and the keys that decoding it asks for, name the fields.
        /// Without one the type is opaque: its values pass through its own code, and its fields are not known.
        public var example: T?
        /// The names of the fields for scripts, by their coding keys; fields that are not in it keep their keys.
        public var names: [String: String]
        /// The `userInfo` of the coders that `init(from:)` and `encode(to:)` are given.
        public var userInfo: [CodingUserInfoKey: any Sendable]
        /// The type's words for people, which tools and editors show.
        public var words = TypeWords()
        /// The same of its fields, by their coding keys; shown of those that the example knows.
        public var fieldWords: [String: TypeWords] = [:]

        /// A registration for ``TypeRegistry/register(_:_:)``; only the name has to be given.
        public init(
            name: String, example: T? = nil, names: [String: String] = [:],
            userInfo: [CodingUserInfoKey: any Sendable] = [:]
        ) {
            self.name = name
            self.example = example
            self.names = names
            self.userInfo = userInfo
        }
    }

    /// Makes a Swift type known under a name. Its own `init(from:)` and `encode(to:)` run as they are written, on the
    /// thread that reads or writes: a typed get decodes the stored value, and gives it encoded again.
    ///
    /// A typed set keeps the keys of the stored value that the decoding did not ask for. A key in a given value that
    /// the type neither asks for nor writes is an error.
    ///
    /// - Throws: ``TypeError`` when the name already means another type; the errors of encoding and decoding the
    ///   example.
    @discardableResult
    public func register<T: Codable & SendableMetatype>(
        _ type: T.Type, as name: String, example: T? = nil, names: [String: String] = [:],
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) throws -> CodableType {
        try register(type, Registration(name: name, example: example, names: names, userInfo: userInfo))
    }

    /// As ``register(_:as:example:names:userInfo:)``.
    @discardableResult
    public func register<T: Codable & SendableMetatype>(_ type: T.Type, _ registration: Registration<T>) throws
        -> CodableType
    {
        try TypeName.check(registration.name)
        let form = CodableType.Form.swift(try SwiftType(type, registration))
        try table.declare(registration.name, form)
        return CodableType(form, in: table)
    }
}
