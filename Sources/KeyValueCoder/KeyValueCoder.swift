// The face for programs with full Foundation: everything of KeyValueCoding, and the parts that need the NS types.
@_exported public import KeyValueCoding
