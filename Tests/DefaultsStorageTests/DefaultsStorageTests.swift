import Testing

@Suite struct DefaultsStorageTests {}
