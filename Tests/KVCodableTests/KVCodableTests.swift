import Testing

@Suite struct KVCodableTests {}
