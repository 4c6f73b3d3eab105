extension TypeRegistry {
    /// How a Swift type is known to scripts and programs in other languages.
    ///
    /// ```swift
    /// struct User: Codable { var name: String }
    /// var registration = TypeRegistry.Registration(name: "User", example: User(name: "Ada"))
    /// registration.names = ["name": "full_name"]  // what scripts call the field
    /// try TypeRegistry.default.register(User.self, registration)
    /// ```
    public struct Registration<T: Codable & SendableMetatype> {
        /// The name of the type in expressions: `User`, `[User]?`.
        public var name: String
        /// A value that describes the type: its encoding, and the keys that decoding it asks for, name the fields.
        /// Without one the type is opaque: its values pass through its own code, and nothing else is known of it.
        public var example: T?
        /// What scripts call the fields, by their coding keys; fields that are not in it keep their keys.
        public var names: [String: String]
        /// What `init(from:)` and `encode(to:)` find in their coders.
        public var userInfo: [CodingUserInfoKey: any Sendable]

        /// What ``TypeRegistry/register(_:_:)`` is to know; only the name has to be given.
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
    /// thread that reads or writes: a typed get gives what encoding the decoded value gives.
    ///
    /// A typed set keeps the keys of the stored value that the decoding did not ask for. A key in a given value that
    /// the type neither asks for nor writes is an error.
    ///
    /// - Throws: ``TypeError`` when the name already means another type; what encoding and decoding the example throw.
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
        var scanner = TypeScanner(registration.name)
        guard (try? scanner.name("a name")) == registration.name, ScalarType.Kind(rawValue: registration.name) == nil,
            registration.name != "Any"
        else { throw TypeError(.description, "Expected a name for a type", ", found \"\(registration.name)\"") }
        let form = CodableType.Form.swift(try SwiftType(type, registration))
        try table.declare(registration.name, form)
        return CodableType(form, in: table)
    }
}
