@_exported public import CodableTypes
@_exported public import DefaultsStorage
@_exported public import KeyValueCoding
@_exported public import PropertyLists
