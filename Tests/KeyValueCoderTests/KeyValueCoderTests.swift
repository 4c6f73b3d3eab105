import Testing

@Suite struct KeyValueCoderTests {}
