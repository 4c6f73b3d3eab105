import Testing

@Suite struct KeyValueCodingTests {}
