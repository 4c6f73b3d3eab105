internal import PropertyLists

extension DecodingNode {
    /// The error that the value at `slot` is not of the requested type.
    final func mismatch<T>(
        _ type: T.Type, _ expected: String? = nil, at slot: DecodingSlot, _ key: LastKey
    ) -> DecodingError {
        let scalar = scalar(at: slot)
        if case .absent = scalar { return missing(slot, key) }
        let path = codingPath.appending(key)
        let isNil = isPresent(scalar, at: slot) == false
        let found = isNil ? "nil" : typeName(at: slot)
        let error = CodingError(.expected(expected ?? "\(type)", found: found))
        let context = error.decodingContext(at: path, in: context.location)
        return isNil ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    /// The error that `type` cannot hold the number at `slot`.
    final func inexact<T>(_ type: T.Type, at slot: DecodingSlot, _ key: LastKey) -> DecodingError {
        let words = ErrorWords(fault: "\(typeName(at: slot))", ending: ", cannot be exactly represented by \(type)")
        let error = CodingError(words, isInexact: true)
        return .typeMismatch(type, error.decodingContext(at: codingPath.appending(key), in: context.location))
    }

    /// The error that there is no value at `slot`. Its path is the container's.
    final func missing(_ slot: DecodingSlot, _ key: LastKey) -> DecodingError {
        let location = codingPath.appending(key).text(in: context.location)
        let text =
            if case .index = slot { "Array does not contain index \(location)" } else {
                "Dictionary does not contain key \(location)"
            }
        return .keyNotFound(key.coding ?? NameKey(""), .init(codingPath: codingPath, debugDescription: text))
    }

    /// The error of a fault, with the two parts of its text: `Date`, ` cannot be decoded. …`.
    final func corrupted(at key: LastKey, _ fault: String, _ ending: String) -> DecodingError {
        let error = CodingError(ErrorWords(fault: fault, ending: ending))
        return .dataCorrupted(error.decodingContext(at: codingPath.appending(key), in: context.location))
    }

    /// Throws where two keys of a dictionary that is read as data are one to Swift, which would lose a value.
    final func refuseLookAlikes() throws {
        guard let (first, second) = lookAlikes else { return }
        throw corrupted(
            at: .none, "Dictionary",
            " has two keys that Swift takes for one: \(spelled(first)) and \(spelled(second))")
    }

    /// A name written so that it differs visibly from its look-alikes.
    private final func spelled(_ name: String) -> String {
        "\"" + name.unicodeScalars.map { $0.escaped(asASCII: true) }.joined() + "\""
    }

    final func tooDeep(_ key: LastKey) -> DecodingError {
        .dataCorrupted(
            .init(codingPath: codingPath.appending(key), debugDescription: CodingLimits.tooDeep(context.location)))
    }

    /// The error of a strategy's closure with the path: a `DecodingError` keeps its kind and its underlying error.
    final func wrapped(_ error: any Error, _ type: String, _ key: LastKey) -> DecodingError {
        let own = CodingError(ErrorWords(fault: type, ending: " cannot be decoded. \(message(of: error))"))
        let underlying = (error as? DecodingError)?.context?.underlyingError.flatMap { $0 is CodingError ? nil : $0 }
        return rewrapped(
            error,
            own.decodingContext(at: codingPath.appending(key), in: context.location, underlying: underlying ?? error))
    }

    private final func rewrapped(_ error: any Error, _ context: DecodingError.Context) -> DecodingError {
        switch error as? DecodingError {
        case .typeMismatch(let type, _): .typeMismatch(type, context)
        case .valueNotFound(let type, _): .valueNotFound(type, context)
        case .keyNotFound(let key, _): .keyNotFound(key, context)
        default: .dataCorrupted(context)
        }
    }
}
