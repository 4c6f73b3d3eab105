// The face for programs with full Foundation: everything of KeyValueCoding, and what needs the NS types.
@_exported public import KeyValueCoding
