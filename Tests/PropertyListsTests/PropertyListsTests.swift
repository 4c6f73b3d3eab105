import Testing
@Suite struct PropertyListsTests {}
