import Testing

@Suite struct CodableTypesTests {}
