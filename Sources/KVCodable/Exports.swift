@_exported public import DefaultsStorage
@_exported public import PropertyLists
