// KVCodable is the module that Swift programs import: the rooms below as they are, and typed access to the store on top
// of them.

@_exported public import CodableTypes
@_exported public import DefaultsStorage
@_exported public import KeyValueCoding
@_exported public import KeyedArchives
@_exported public import PropertyLists
